//! Which processor a thread runs on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that this process may use, ascending.
///
/// # Errors
/// When the system does not say.
pub fn allowed() -> std::io::Result<Vec<u16>> {
    let set = sched_getaffinity(None)?;
    let cpus = (0..CpuSet::MAX_CPU as u16).filter(|&cpu| set.is_set(cpu.into()));
    Ok(cpus.collect())
}

/// Keeps the calling thread on `cpu` from now on.
///
/// # Errors
/// When it may not run there.
pub fn pin(cpu: u16) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu.into());
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_on_its_processor_alone() {
        let cpus = allowed().unwrap();
        assert!(cpus.is_sorted() && !cpus.is_empty());
        let last = cpus[cpus.len() - 1];
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(allowed().unwrap(), [last]);
        })
        .join()
        .unwrap();
        assert_eq!(allowed().unwrap(), cpus, "other threads stay free");
    }
}
