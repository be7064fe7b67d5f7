//! Programs that are killed while they mark.

use std::collections::BTreeMap;

use ringfence_workloads::job_log::Kind;

use super::c_program::{log, program};

/// Whatever a program was doing, what comes out are its jobs in order, and its slots are
/// free again.
#[test]
fn a_killed_program_leaves_whole_marks_and_its_slots() {
    let mut log = log(2, 256);
    for round in 0..20 {
        let mut child = program("endless", Some(&log.path())).spawn().unwrap();
        // Of each task the mark that comes next, and how many came.
        let mut next: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        while next.len() < 2 || next.values().any(|(_, taken)| *taken < 100 + 50 * round) {
            // It lives: nothing of it is taken away.
            log.reclaim();
            let drained = log.drain(|mark| {
                let (least, taken) = next.entry(mark.task).or_default();
                let place = 2 * mark.job + u64::from(mark.kind == Kind::End);
                assert!(place >= *least, "{mark:?}");
                assert_eq!(mark.thread.process, child.id());
                (*least, *taken) = (place + 1, *taken + 1);
            });
            assert_eq!((drained.damaged, drained.left.len()), (0, 0));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        log.reclaim();
        let drained = log.drain(|mark| {
            let (least, _) = next[&mark.task];
            assert!(2 * mark.job + 1 >= least, "{mark:?}");
        });
        assert_eq!((drained.damaged, drained.left.len()), (0, 2));
    }
}
