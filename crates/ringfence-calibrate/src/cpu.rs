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
    if usize::from(cpu) >= CpuSet::MAX_CPU {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu.into());
    Ok(sched_setaffinity(None, &set)?)
}

/// The number by which the system knows the calling thread.
pub fn thread_number() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// A list as the kernel writes those of processors: `0-3,8`; ascending, none twice.
pub fn parse_list(text: &str) -> Option<Vec<u16>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u16, u16) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is given, reading a list gives one that ascends, or nothing.
        #[test]
        fn any_list_is_read_or_refused(text in "[0-9,\\- ]{0,20}") {
            if let Some(cpus) = parse_list(&text) {
                prop_assert!(cpus.is_sorted());
            }
        }

        #[test]
        fn a_written_list_is_read_back(cpus in prop::collection::btree_set(0_u16..600, 1..20)) {
            let text: Vec<String> = cpus.iter().map(ToString::to_string).collect();
            prop_assert_eq!(parse_list(&text.join(",")), Some(cpus.into_iter().collect()));
        }
    }

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
        assert!(pin(u16::MAX).is_err());
    }
}
