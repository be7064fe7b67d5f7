//! The doctor on machines that are known by copies of their files.

mod fitness;
mod kernel_types;
mod machines;
mod sched_ext;
mod this_machine;

use std::path::Path;

use ringfence_linux::doctor::check::{Check, Level};
use ringfence_linux::doctor::machine_files::MachineFiles;
use ringfence_linux::doctor::probe::{ClassProbe, Probed};
use ringfence_linux::doctor::{Examination, examine};
use ringfence_linux::pmu::EventProbe;

/// Writes the files of a machine, by path.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }
}

/// What the doctor says of a machine with these files.
fn examined(files: &[(&str, &str)], probed: Probed) -> Examination {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), files);
    examine(&MachineFiles::below(root.path()), probed)
}

#[track_caller]
fn check<'a>(examination: &'a Examination, name: &str) -> &'a Check {
    let found = examination.checks.iter().find(|check| check.name == name);
    found.unwrap_or_else(|| panic!("no check is called {name}"))
}

#[track_caller]
fn expect(examination: &Examination, name: &str, state: Level, words: &[&str]) {
    let check = check(examination, name);
    assert_eq!(check.state, state, "{check:?}");
    for word in words {
        let text = format!(
            "{} {} {}",
            check.found,
            check.why,
            check.remedy.as_deref().unwrap_or_default()
        );
        assert!(text.contains(word), "no '{word}' in {check:?}");
    }
}

/// Real-time classes as they come to root.
fn all_classes() -> Vec<ClassProbe> {
    let class = |class| ClassProbe {
        class,
        refusal: None,
    };
    ["fifo", "rr", "deadline"].map(class).into()
}

fn no_classes() -> Vec<ClassProbe> {
    let mut classes = all_classes();
    for class in &mut classes {
        class.refusal = Some("Operation not permitted (os error 1)".into());
    }
    classes
}

fn event(event: &str, is_traffic: bool, counts_on: &str) -> EventProbe {
    EventProbe {
        event: event.into(),
        is_traffic,
        computing: Some(12),
        missing: Some(300_000),
        counts_on: counts_on.into(),
        tried_on: "0-3".into(),
        refusal: None,
    }
}
