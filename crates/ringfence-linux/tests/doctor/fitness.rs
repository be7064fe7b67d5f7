//! What the checks come to, and machines that make no sense.

use proptest::prelude::*;
use ringfence_linux::doctor::check::Level;
use ringfence_linux::doctor::modes::Regulation;
use ringfence_linux::doctor::probe::Probed;
use ringfence_linux::pmu::EventProbe;

use crate::machines::{BOARD, SERVER};
use crate::{all_classes, event, examined, expect, no_classes};

fn portable(events: Vec<EventProbe>) -> Probed {
    Probed {
        classes: all_classes(),
        events,
        recorder: Some(Ok(())),
        ..Probed::default()
    }
}

#[test]
fn without_a_witness_there_is_portable_mode_alone_and_it_says_so() {
    let refused = Err("not permitted".to_owned());
    for (files, recorder, found) in [
        (BOARD, None, "no type information"),
        (BOARD, Some(refused.clone()), "no type information"),
        (SERVER_WITH_TYPES, Some(refused), "was not loaded"),
    ] {
        let probed = Probed {
            recorder,
            scheduler: Some(Ok(())),
            ..portable(vec![])
        };
        let examined = examined(files, probed);
        expect(&examined, "BPF tracepoints", Level::Unusable, &[found]);
        let [sched_ext, portable] = examined.modes.as_slice() else {
            panic!("{:?}", examined.modes);
        };
        assert!(!sched_ext.works);
        // The server of this test has no freezer.
        assert_eq!(portable.works, files == BOARD);
        let says_so = |missing: &String| {
            missing.contains(found) && missing.contains("nobody records who runs where")
        };
        assert!(portable.missing.iter().any(says_so), "{portable:?}");
    }
}

const SERVER_WITH_TYPES: &[(&str, &str)] = &[
    ("proc/sys/kernel/osrelease", "6.18.0"),
    ("sys/kernel/btf/vmlinux", ""),
];

#[test]
fn without_real_time_classes_there_is_no_portable_mode() {
    let probed = Probed {
        classes: no_classes(),
        ..Probed::default()
    };
    let found = examined(BOARD, probed.clone());
    expect(
        &found,
        "scheduler classes",
        Level::Unusable,
        &["CAP_SYS_NICE", "run as root"],
    );
    assert!(!found.is_fit());
    let missing = &found.modes[1].missing;
    assert!(
        missing[0].starts_with("scheduler classes: not fifo, rr"),
        "{missing:?}"
    );

    // With the right, but in a group that has no share.
    let mut files = BOARD.to_vec();
    files.extend([
        ("proc/self/status", "CapEff:\t0000000000800000"),
        ("proc/self/cgroup", "3:cpu,cpuacct:/user\n2:freezer:/"),
        ("sys/fs/cgroup/cpu/user/cpu.rt_runtime_us", "0"),
    ]);
    let found = examined(&files, probed);
    expect(
        &found,
        "scheduler classes",
        Level::Unusable,
        &["/sys/fs/cgroup/cpu/user has no real-time share"],
    );
}

#[test]
fn without_traffic_events_time_stands_in_and_is_called_so() {
    let silent = EventProbe {
        missing: Some(0),
        computing: Some(0),
        ..event("cache-misses", true, "")
    };
    let refused = EventProbe {
        refusal: Some("not allowed".into()),
        ..event("cycles", false, "")
    };
    for (events, state, word) in [
        (vec![], Level::Unusable, "duty cycle"),
        (
            vec![silent],
            Level::Unusable,
            "cache-misses: it opens and does not count",
        ),
        (vec![refused], Level::Unusable, "cycles: not allowed"),
        (
            vec![event("cycles", false, "0-3")],
            Level::Limited,
            "none of them counts memory traffic",
        ),
        // On some CPUs is not on all.
        (
            vec![event("cache-misses", true, "0-2")],
            Level::Unusable,
            "while missing",
        ),
    ] {
        let found = examined(BOARD, portable(events));
        expect(&found, "PMU events", state, &[word]);
        let mode = &found.modes[1];
        assert_eq!(mode.regulation, Some(Regulation::DutyCycle));
        assert_eq!(mode.missing, ["traffic is counted under sched_ext only"]);
    }
}

#[test]
fn a_machine_without_files_is_examined_and_unfit() {
    let found = examined(&[], Probed::default());
    assert!(!found.is_fit());
    assert_eq!(found.checks.len(), 16);
    expect(&found, "kernel", Level::Unusable, &["mount -t proc"]);
}

proptest! {
    /// Whatever is in the files, the doctor comes to an end and says something of everything.
    #[test]
    fn any_text_in_any_file_is_examined(
        texts in prop::collection::vec((any::<prop::sample::Index>(), "[ -~\n\t]{0,40}"), 0..12),
    ) {
        let mut files = SERVER.to_vec();
        files.extend(BOARD);
        for (index, text) in &texts {
            let (path, _) = *index.get(&files);
            files.push((path, text));
        }
        let found = examined(&files, Probed::default());
        prop_assert_eq!(found.checks.len(), 16);
        prop_assert!(found.checks.iter().all(|check| !check.found.is_empty()));
    }
}
