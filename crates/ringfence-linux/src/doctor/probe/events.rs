//! Counts what is known to happen, with each event that a regulator could use.

use std::io;

use ringfence_workloads::cpu;

use super::load::{self, LINES, Memory, TURNS};
use super::{EventProbe, MachineFiles};
use crate::counters::{CpuCounters, Generic, Source};
use crate::sys;

/// An event, and how much of it the loads cause.
struct Event {
    name: &'static str,
    source: Source,
    expects: Expects,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    /// Some for each turn of the loop that computes.
    Turns,
    /// About one for each line that is missed, and few for turns.
    Lines,
}

const GENERIC: [Event; 3] = [
    Event {
        name: "cycles",
        source: Source::Generic(Generic::Cycles),
        expects: Expects::Turns,
    },
    Event {
        name: "instructions",
        source: Source::Generic(Generic::Instructions),
        expects: Expects::Turns,
    },
    Event {
        name: "cache-misses",
        source: Source::Generic(Generic::CacheMisses),
        expects: Expects::Lines,
    },
];

/// Common events of Arm's PMU (Arm Architecture Reference Manual, PMU events).
const ARM: [Event; 4] = [
    arm("l2d_cache_refill", 0x17),
    arm("l2d_cache_wb", 0x18),
    arm("l3d_cache_refill", 0x2a),
    arm("bus_access", 0x19),
];

const fn arm(name: &'static str, code: u64) -> Event {
    Event {
        name,
        source: Source::Pmu(code),
        expects: Expects::Lines,
    }
}

impl Event {
    /// Whether the counts are what the loads cause. Prefetches, speculation, page tables and
    /// what interrupts do add to them; a cache above the one that is counted takes from them.
    fn is_plausible(&self, computing: u64, missing: u64) -> bool {
        match self.expects {
            Expects::Turns => (TURNS / 8..=TURNS * 256).contains(&computing) && missing > LINES / 8,
            Expects::Lines => {
                (LINES / 8..=LINES * 32).contains(&missing) && missing / 4 > computing
            }
        }
    }
}

/// An interrupt each so many is what a regulator asks for; an event that cannot is no use.
const QUANTUM: u64 = 1 << 16;

/// Tries each event on each CPU that this process may use.
pub fn probe(machine: &MachineFiles) -> Vec<EventProbe> {
    let cpus = sys::affinity(0).unwrap_or_default();
    let arm: &[Event] = match cfg!(target_arch = "aarch64") {
        true => &ARM,
        false => &[],
    };
    let mut memory = None;
    let events = GENERIC.iter().chain(arm);
    let probed = events.map(|event| {
        // An event that the machine does not have is not worth any memory.
        let opened = CpuCounters::open(event.source, QUANTUM, &cpus[..cpus.len().min(1)]);
        match opened {
            Err(error) => refused(event, &error),
            Ok(_) => {
                let memory = memory.get_or_insert_with(|| Memory::of(machine));
                probe_event(event, &cpus, memory)
            }
        }
    });
    probed.collect()
}

fn refused(event: &Event, error: &io::Error) -> EventProbe {
    EventProbe {
        event: event.name,
        is_traffic: event.expects == Expects::Lines,
        computing: None,
        missing: None,
        counts_on: String::new(),
        tried_on: String::new(),
        refusal: Some(match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => "not on this machine".into(),
            Some(libc::EACCES | libc::EPERM) => "not allowed".into(),
            _ => error.to_string(),
        }),
    }
}

fn probe_event(event: &Event, cpus: &[u16], memory: &mut Memory) -> EventProbe {
    let mut probed = EventProbe {
        refusal: None,
        ..refused(event, &io::Error::from_raw_os_error(libc::ENOENT))
    };
    let (mut good, mut tried) = (Vec::new(), Vec::new());
    for &cpu in cpus {
        // A thread for each: where it runs must not stay.
        let counted = std::thread::scope(|scope| {
            let counting = scope.spawn(|| count(event.source, cpu, memory));
            counting.join().expect("counting does not panic")
        });
        tried.push(cpu);
        let Ok((computing, missing)) = counted else {
            continue;
        };
        if event.is_plausible(computing, missing) {
            good.push(cpu);
        }
        // Of several CPUs the one that does not count is told of.
        if probed.computing.is_none() || !event.is_plausible(computing, missing) {
            probed.computing = Some(computing);
            probed.missing = Some(missing);
        }
    }
    EventProbe {
        counts_on: cpu::write_list(&good),
        tried_on: cpu::write_list(&tried),
        ..probed
    }
}

/// Counts of the two loads on a CPU.
fn count(source: Source, cpu: u16, memory: &mut Memory) -> io::Result<(u64, u64)> {
    sys::set_affinity(0, &[cpu])?;
    let mut counters = CpuCounters::open(source, QUANTUM, &[cpu])?;
    let mut read = || -> io::Result<u64> { Ok(counters.read()?.iter().map(|(_, n)| n).sum()) };
    let start = read()?;
    load::compute();
    let computed = read()?;
    memory.miss();
    let missed = read()?;
    Ok((
        computed.saturating_sub(start),
        missed.saturating_sub(computed),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_the_loads_cannot_have_caused_are_not_believed() {
        let [cycles, _, misses] = &GENERIC;
        for (event, computing, missing, is_plausible) in [
            (cycles, TURNS * 4, LINES * 200, true),
            (cycles, 0, 0, false),
            (cycles, TURNS * 4, 0, false),
            (cycles, 100, LINES * 200, false),
            (misses, 1_000, LINES, true),
            (misses, 1_000, LINES * 2, true),
            (misses, 0, 0, false),
            (misses, 1_000, LINES / 20, false),
            // One that counts something else, such as cycles.
            (misses, LINES, LINES * 2, false),
            (misses, 1_000, LINES * 200, false),
        ] {
            let found = event.is_plausible(computing, missing);
            assert_eq!(found, is_plausible, "{} {computing} {missing}", event.name);
        }
    }

    #[test]
    fn the_load_changes_no_line_twice_in_a_row_of_runs() {
        let mut memory = Memory::of(&MachineFiles::below("/no/such/folder"));
        memory.miss();
        memory.miss();
        assert_eq!(memory.changed(), 2 * LINES as usize);
    }
}
