//! Counters of what each CPU does: the traffic that a regulator regulates by.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use perf_event::events::{Event, Hardware, Raw, Software};
use perf_event::{Builder, Counter};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An event of the CPU's performance monitoring unit, by its raw code.
    Pmu(u64),
    /// One that the kernel knows how to count on this CPU, if it can.
    Generic(Generic),
    /// Nanoseconds that the CPU is used: no traffic. It stands in where there is no PMU, and
    /// what is regulated by it is the share of time that best-effort work gets (duty cycle).
    Time,
}

/// Events that the kernel has one name for on all CPUs (perf_event_open(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generic {
    /// Cycles that the CPU was not idle.
    Cycles,
    /// Instructions that were carried out.
    Instructions,
    /// Misses, on most CPUs of the last-level cache; on some of the last one of the core.
    CacheMisses,
}

/// One counter on each of some CPUs, which tells each time that it has counted a quantum.
pub struct CpuCounters {
    counters: Vec<(u16, Counter)>,
}

impl CpuCounters {
    /// Opens the counter on all `cpus`; it counts from now on.
    ///
    /// # Errors
    /// The machine has no such counter, or it is not allowed.
    pub fn open(source: Source, quantum: u64, cpus: &[u16]) -> io::Result<Self> {
        let counters = cpus.iter().map(|&cpu| {
            let mut counter = match source {
                Source::Pmu(code) => build(Raw::new(code), quantum, cpu),
                Source::Generic(Generic::Cycles) => build(Hardware::CPU_CYCLES, quantum, cpu),
                Source::Generic(Generic::Instructions) => {
                    build(Hardware::INSTRUCTIONS, quantum, cpu)
                }
                Source::Generic(Generic::CacheMisses) => {
                    build(Hardware::CACHE_MISSES, quantum, cpu)
                }
                Source::Time => build(Software::CPU_CLOCK, quantum, cpu),
            }?;
            counter.enable()?;
            Ok((cpu, counter))
        });
        Ok(Self {
            counters: counters.collect::<io::Result<_>>()?,
        })
    }

    /// The counter of each CPU, as a descriptor.
    pub fn descriptors(&self) -> impl Iterator<Item = (u16, BorrowedFd<'_>)> {
        let all = self.counters.iter();
        // SAFETY: `self` keeps the counter open as long as the descriptor is borrowed.
        all.map(|(cpu, counter)| (*cpu, unsafe { BorrowedFd::borrow_raw(counter.as_raw_fd()) }))
    }

    /// What each CPU has counted so far.
    ///
    /// # Errors
    /// A counter cannot be read.
    pub fn read(&mut self) -> io::Result<Vec<(u16, u64)>> {
        let all = self.counters.iter_mut();
        all.map(|(cpu, counter)| Ok((*cpu, counter.read()?)))
            .collect()
    }
}

fn build(event: impl Event, quantum: u64, cpu: u16) -> io::Result<Counter> {
    Builder::new(event)
        .sample_period(quantum)
        .wakeup_events(0)
        .any_pid()
        .one_cpu(cpu.into())
        .include_kernel()
        .pinned(true)
        .build()
}
