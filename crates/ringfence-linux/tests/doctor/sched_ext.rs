//! The ways in which sched_ext is there and not there.

use ringfence_linux::doctor::check::Level;
use ringfence_linux::doctor::machine_files::MachineFiles;
use ringfence_linux::doctor::probe::Probed;
use ringfence_linux::doctor::{Examination, examine};

use crate::kernel_types::btf;
use crate::machines::SERVER;
use crate::{expect, write};

/// The server with other files, and with type information of these functions.
fn server(
    files: &[(&str, &str)],
    functions: Option<&[(&str, &[&str])]>,
    loaded: Option<Result<(), String>>,
) -> Examination {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), SERVER);
    write(root.path(), files);
    if let Some(functions) = functions {
        let folder = root.path().join("sys/kernel/btf");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("vmlinux"), btf(functions)).unwrap();
    }
    let probed = Probed {
        scheduler: loaded,
        recorder: Some(Ok(())),
        ..Probed::default()
    };
    examine(&MachineFiles::below(root.path()), probed)
}

const WHOLE: &[(&str, &[&str])] = &[
    ("scx_bpf_kick_cpu", &["cpu", "flags"]),
    ("scx_bpf_kick_cpu_impl", &["cpu", "flags", "aux"]),
    ("schedule", &["aux"]),
];
const BROKEN: &[(&str, &[&str])] = &[
    ("scx_bpf_dsq_nr_queued", &["dsq_id"]),
    ("scx_bpf_kick_cpu", &["cpu", "flags", "aux"]),
    ("scx_bpf_create_dsq", &["dsq_id", "node", "aux"]),
];

#[test]
fn a_scheduler_that_was_loaded_is_all_that_counts() {
    for functions in [Some(WHOLE), Some(BROKEN), None] {
        let found = server(&[], functions, Some(Ok(())));
        expect(&found, "sched_ext", Level::Usable, &[]);
        assert!(found.modes[0].works);
    }
}

#[test]
fn broken_prototypes_are_named() {
    for loaded in [None, Some(Err("func_proto incompatible".to_owned()))] {
        let found = server(&[], Some(BROKEN), loaded);
        expect(
            &found,
            "sched_ext",
            Level::Unusable,
            &[
                "2 of its functions, such as scx_bpf_create_dsq",
                "6.18 and 7.0",
            ],
        );
        assert!(!found.modes[0].works);
    }
}

#[test]
fn whole_types_without_trying_prove_little() {
    let found = server(&[], Some(WHOLE), None);
    expect(&found, "sched_ext", Level::Limited, &["not tried"]);
}

#[test]
fn without_types_nothing_can_be_loaded() {
    let found = server(&[], None, None);
    expect(
        &found,
        "sched_ext",
        Level::Unusable,
        &["without type information", "CONFIG_DEBUG_INFO_BTF"],
    );
}

#[test]
fn somebody_elses_scheduler_is_named() {
    let files = [
        ("sys/kernel/sched_ext/state", "enabled"),
        ("sys/kernel/sched_ext/root/ops", "simple"),
    ];
    // Loading works beside it, attaching does not.
    let found = server(&files, Some(WHOLE), Some(Ok(())));
    expect(
        &found,
        "sched_ext",
        Level::Unusable,
        &["'simple' is attached", "end simple"],
    );
}

#[test]
fn a_kernel_that_says_how_it_was_built_is_believed() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            ("proc/sys/kernel/osrelease", "6.12.1"),
            (
                "boot/config-6.12.1",
                "# CONFIG_SCHED_CLASS_EXT is not set\nCONFIG_BPF=y",
            ),
        ],
    );
    let machine = MachineFiles::below(root.path());
    assert_eq!(machine.option("CONFIG_BPF"), Some(true));
    let found = examine(&machine, Probed::default());
    expect(
        &found,
        "sched_ext",
        Level::Unusable,
        &["CONFIG_SCHED_CLASS_EXT is not set"],
    );
}

#[test]
fn what_the_kernel_has_against_it_is_told_with_the_rights_that_lack() {
    let refusal = || Some(Err("Operation not permitted".to_owned()));
    for (capabilities, is_told) in [
        ("0000000000000000", true),
        ("000000c000000000", false),
        ("0000000000200000", false),
    ] {
        let status = format!("Name:\tringfence\nCapEff:\t{capabilities}");
        let found = server(&[("proc/self/status", &status)], Some(WHOLE), refusal());
        expect(&found, "sched_ext", Level::Unusable, &["not permitted"]);
        let check = crate::check(&found, "sched_ext");
        assert_eq!(check.remedy.is_some(), is_told, "{check:?}");
    }
}
