//! What the operating system costs.

use std::io::{Read, Write, pipe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Effort, MeasureError};
use crate::figures::OsFigures;
use crate::statistics::Spread;
use ringfence_workloads::cpu;
use ringfence_workloads::cycles::busy_units_ns;
use ringfence_workloads::inventory::Inventory;

/// Round trips of a slice.
const ROUND_TRIPS: u32 = 500;
/// A thread that reads the clock and finds this much gone was interrupted.
const GAP_NS: u64 = 400;

/// Measures on the processor of the calling thread.
pub fn measure(inventory: &Inventory, effort: Effort) -> Result<OsFigures, MeasureError> {
    let first = inventory.cpus[0];
    let (tick_ns, interrupt_ns) = tick(effort);
    Ok(OsFigures {
        context_switch_ns: context_switch_ns(first, effort)?,
        tick_ns,
        interrupt_ns,
        arithmetic_beside_another: match inventory.cpus.get(1) {
            Some(&second) => Some(beside_another(second, effort)?),
            None => None,
        },
    })
}

/// Two threads on one processor wake each other over pipes. A round trip is two switches, two
/// writes and two reads; writing and reading without a switch is measured and taken off, as
/// McVoy and Staelin do ("lmbench: portable tools for performance analysis", USENIX 1996).
fn context_switch_ns(processor: u16, effort: Effort) -> Result<Spread, MeasureError> {
    let refused = || MeasureError::system("passing a byte through a pipe");
    let (mut to_here, mut from_there) = pipe().map_err(refused())?;
    let (mut to_there, mut from_here) = pipe().map_err(refused())?;
    thread::scope(|scope| {
        let echo = scope.spawn(move || -> std::io::Result<()> {
            cpu::pin(processor)?;
            let mut byte = [0];
            while to_there.read(&mut byte)? > 0 {
                from_there.write_all(&byte)?;
            }
            Ok(())
        });
        let mut slice = || -> std::io::Result<f64> {
            let mut byte = [1];
            let start = Instant::now();
            for _ in 0..ROUND_TRIPS {
                from_here.write_all(&byte)?;
                to_here.read_exact(&mut byte)?;
            }
            let both = start.elapsed().as_nanos() as f64 / f64::from(2 * ROUND_TRIPS);
            Ok((both - pass_ns()?).max(0.0))
        };
        let slices: std::io::Result<Vec<f64>> =
            (0..=effort.repetitions()).map(|_| slice()).collect();
        drop(from_here);
        let echoed = echo.join();
        let echoed = echoed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let slices = echoed.and(slices).map_err(refused())?;
        // The first one starts the other thread.
        Ok(Spread::of(slices[1..].to_vec()))
    })
}

/// Nanoseconds to write a byte into a pipe and to read it.
fn pass_ns() -> std::io::Result<f64> {
    let (mut end, mut start) = pipe()?;
    let mut byte = [1];
    let began = Instant::now();
    for _ in 0..ROUND_TRIPS {
        start.write_all(&byte)?;
        end.read_exact(&mut byte)?;
    }
    Ok(began.elapsed().as_nanos() as f64 / f64::from(ROUND_TRIPS))
}

/// Period of the scheduler tick, and what it takes from a thread.
fn tick(effort: Effort) -> (Option<u64>, Option<Spread>) {
    let time = match effort {
        Effort::Quick => Duration::from_millis(100),
        Effort::Full => Duration::from_millis(1000),
    };
    match rhythm(&gaps(time), time.as_nanos() as u64) {
        None => (None, None),
        Some((tick_ns, lengths)) => (Some(tick_ns), Some(Spread::of(lengths))),
    }
}

/// When a thread that does nothing but read the clock was interrupted, and for how long.
fn gaps(time: Duration) -> Vec<(u64, u64)> {
    let start = Instant::now();
    let (mut before, mut gaps) = (0, Vec::new());
    while before < time.as_nanos() as u64 {
        let now = start.elapsed().as_nanos() as u64;
        if now - before >= GAP_NS {
            gaps.push((now, now - before));
        }
        before = now;
    }
    gaps
}

/// The tick of the usual kernels that `gaps`, as (end, length), come in, and the lengths of
/// those that do: most of its periods of the whole `time` have a gap at the same place in the
/// period. Of several that fit, the shortest: a fast tick also beats every fourth time, and a
/// slow one never fills a faster one.
fn rhythm(gaps: &[(u64, u64)], time_ns: u64) -> Option<(u64, Vec<f64>)> {
    /// CONFIG_HZ 1000, 300, 250 and 100.
    const TICKS_NS: [u64; 4] = [1_000_000, 3_333_333, 4_000_000, 10_000_000];
    /// What takes longer is another thread and no tick.
    const LONGEST_NS: u64 = 100_000;
    let short: Vec<(u64, u64)> = gaps
        .iter()
        .map(|&(end, length)| (end - length, length))
        .filter(|&(_, length)| length <= LONGEST_NS)
        .collect();
    TICKS_NS.into_iter().find_map(|tick_ns| {
        let near_ns = tick_ns / 50;
        let is_on_beat = |origin: u64, begin: u64| {
            let phase = begin.abs_diff(origin) % tick_ns;
            phase.min(tick_ns - phase) <= near_ns
        };
        let wanted = time_ns / tick_ns * 8 / 10;
        short.iter().find_map(|&(origin, _)| {
            let on_beat = short
                .iter()
                .filter(|&&(begin, _)| is_on_beat(origin, begin));
            let lengths: Vec<f64> = on_beat.map(|&(_, length)| length as f64).collect();
            (lengths.len() as u64 >= wanted.max(1)).then_some((tick_ns, lengths))
        })
    })
}

/// How many times longer arithmetic takes while `other` does the same.
fn beside_another(other: u16, effort: Effort) -> Result<f64, MeasureError> {
    let (running, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let slices = |count: usize| Spread::of((0..count).map(|_| busy_units_ns()).collect()).least;
    busy_units_ns();
    let alone = slices(effort.repetitions());
    let beside = thread::scope(|scope| {
        let neighbour = scope.spawn(|| {
            let pinned = cpu::pin(other);
            running.store(true, Ordering::SeqCst);
            while pinned.is_ok() && !stop.load(Ordering::SeqCst) {
                busy_units_ns();
            }
            pinned
        });
        while !running.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
        let beside = slices(effort.repetitions());
        stop.store(true, Ordering::SeqCst);
        let pinned = neighbour.join();
        let pinned = pinned.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        pinned.map(|()| beside)
    });
    let beside = beside.map_err(MeasureError::system("pinning to a processor"))?;
    Ok(beside / alone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Ticks are found under a jitter of 1 % and other interruptions between them.
        #[test]
        fn the_rhythm_of_ticks_is_found(
            tick in prop::sample::select(vec![1_000_000_u64, 3_333_333, 4_000_000, 10_000_000]),
            first in 0_u64..1_000_000,
            jitter in prop::collection::vec(0_u64..10_000, 100),
            others in prop::collection::vec(0_u64..100_000_000, 0..8),
        ) {
            let time = 100_000_000;
            let ticks = (0..).map(|beat| first + beat * tick).take_while(|&at| at < time);
            let mut gaps: Vec<(u64, u64)> = ticks
                .zip(&jitter)
                .map(|(at, jitter)| (at + jitter + 3000, 3000))
                .chain(others.iter().map(|&at| (at + 900, 900)))
                .collect();
            gaps.sort_unstable();
            let (found, lengths) = rhythm(&gaps, time).unwrap();
            prop_assert_eq!(found, tick);
            prop_assert_eq!(Spread::of(lengths).median, 3000.0);
        }
    }

    #[test]
    fn without_interruptions_there_is_no_rhythm() {
        assert_eq!(rhythm(&[], 100_000_000), None);
        assert_eq!(rhythm(&[(5000, 900), (70_000_000, 900)], 100_000_000), None);
    }
}
