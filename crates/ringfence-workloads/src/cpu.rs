//! Which processors a thread may run on, and lists of them.

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
    keep_on(&[cpu])
}

/// Keeps the calling thread on `cpus` from now on.
///
/// # Errors
/// When it may run on none of them, or one has a number that no processor has.
pub fn keep_on(cpus: &[u16]) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if usize::from(cpu) >= CpuSet::MAX_CPU {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        set.set(cpu.into());
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// The number by which the system knows the calling thread.
pub fn thread_number() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// The CPUs in a list as the kernel writes it, such as `0-3,8`: ascending, none twice. Blanks
/// around it and its numbers do not matter; no text is an empty list.
///
/// `None` if it is no such list.
pub fn parse_list(text: &str) -> Option<Vec<u16>> {
    let mut cpus = Vec::new();
    if text.trim().is_empty() {
        return Some(cpus);
    }
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

/// Ascending CPUs as a list.
pub fn write_list(cpus: &[u16]) -> String {
    let runs = cpus.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let texts = runs.map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is given, reading a list gives one that ascends, or nothing.
        #[test]
        fn any_list_is_read_or_refused(text in "[0-9,\\- \n]{0,20}") {
            if let Some(cpus) = parse_list(&text) {
                prop_assert!(cpus.is_sorted());
            }
        }

        #[test]
        fn a_written_list_is_read_back(cpus in prop::collection::btree_set(0_u16..600, 0..20)) {
            let cpus: Vec<u16> = cpus.into_iter().collect();
            prop_assert_eq!(parse_list(&format!(" {}\n", write_list(&cpus))), Some(cpus));
        }
    }

    #[test]
    fn an_empty_list_has_no_cpus_and_an_empty_part_is_none() {
        for nothing in ["", " \n"] {
            assert_eq!(parse_list(nothing), Some(vec![]));
        }
        for broken in [",", "0,", "0,,1", "-", "1-"] {
            assert_eq!(parse_list(broken), None, "{broken}");
        }
        assert_eq!(write_list(&[0, 1, 2, 8]), "0-2,8");
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
