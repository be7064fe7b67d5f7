//! Counts what is known to happen, with each event that a regulator could use.

use std::io;

use ringfence_workloads::cpu;
use serde::Serialize;

use super::load::{self, LINES, Memory, TURNS};
use super::{Counts, Event};
use crate::counters::{CpuCounters, Source};
use crate::doctor::machine_files::MachineFiles;
use crate::sys;

/// What an event counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventProbe {
    /// Its name.
    pub event: String,
    /// Whether it is memory traffic, which budgets can be held by.
    pub is_traffic: bool,
    /// Count while a loop computed in registers; none where it could not be opened.
    pub computing: Option<u64>,
    /// Count while as many lines as [`super::LOAD_LINES`] were changed that no cache held.
    pub missing: Option<u64>,
    /// CPUs where both counts are what such loads cause, as a list.
    pub counts_on: String,
    /// CPUs that were tried, as a list.
    pub tried_on: String,
    /// What the system said against opening it.
    pub refusal: Option<String>,
}

impl EventProbe {
    /// Whether it counts on every CPU that was tried.
    pub fn counts(&self) -> bool {
        !self.tried_on.is_empty() && self.counts_on == self.tried_on
    }
}

impl Counts {
    /// Whether the counts are what the loads cause. Prefetches, speculation, page tables and
    /// what interrupts do add to them; a cache above the one that is counted takes from them.
    fn is_plausible(self, computing: u64, missing: u64) -> bool {
        match self {
            Self::Use => (TURNS / 8..=TURNS * 256).contains(&computing) && missing > LINES / 8,
            Self::Reads | Self::Writes | Self::Both => {
                (LINES / 8..=LINES * 32).contains(&missing) && missing / 4 > computing
            }
        }
    }
}

/// An interrupt each so many is what a regulator asks for; an event that cannot is no use.
const QUANTUM: u64 = 1 << 16;

/// Proves events. What it needs for that is made once, and only if there is one to prove.
pub struct Prover<'a> {
    machine: &'a MachineFiles,
    memory: Option<Memory>,
}

impl<'a> Prover<'a> {
    /// One that knows how large the caches of `machine` are, which is this one.
    pub fn of(machine: &'a MachineFiles) -> Self {
        Self {
            machine,
            memory: None,
        }
    }

    /// Tries an event on each of `cpus`. The thread that does so goes there.
    pub fn prove(&mut self, event: &Event, cpus: &[u16]) -> EventProbe {
        // An event that the machine does not have is not worth any memory.
        match CpuCounters::open(event.source, QUANTUM, &cpus[..cpus.len().min(1)]) {
            Err(error) => refused(event, &error),
            Ok(_) => {
                let machine = self.machine;
                let memory = self.memory.get_or_insert_with(|| Memory::of(machine));
                probe_event(event, cpus, memory)
            }
        }
    }
}

fn refused(event: &Event, error: &io::Error) -> EventProbe {
    EventProbe {
        event: event.name.clone().into_owned(),
        is_traffic: event.counts.is_traffic(),
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
        if event.counts.is_plausible(computing, missing) {
            good.push(cpu);
        }
        // Of several CPUs the one that does not count is told of.
        if probed.computing.is_none() || !event.counts.is_plausible(computing, missing) {
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
        for (counts, computing, missing, is_plausible) in [
            (Counts::Use, TURNS * 4, LINES * 200, true),
            (Counts::Use, 0, 0, false),
            (Counts::Use, TURNS * 4, 0, false),
            (Counts::Use, 100, LINES * 200, false),
            (Counts::Reads, 1_000, LINES, true),
            (Counts::Writes, 1_000, LINES * 2, true),
            (Counts::Both, 1_000, LINES * 8, true),
            (Counts::Reads, 0, 0, false),
            (Counts::Reads, 1_000, LINES / 20, false),
            // One that counts something else, such as cycles.
            (Counts::Reads, LINES, LINES * 2, false),
            (Counts::Reads, 1_000, LINES * 200, false),
        ] {
            let found = counts.is_plausible(computing, missing);
            assert_eq!(found, is_plausible, "{counts:?} {computing} {missing}");
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
