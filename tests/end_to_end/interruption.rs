//! What is left of a run that did not come to its end.

use std::fs;
use std::path::{Path, PathBuf};

use ringfence_record::Reader;
use ringfence_record::event::Event;

use crate::ringfence::{house, ringfence, ringfence_cut_at, scratch};

fn command() -> String {
    let scenario = house().join("scenarios/rt-gang/illustrative.toml");
    format!("run -q -j 1 -o run.rfr {}", scenario.display())
}

/// A whole record of the scenario, and where its first section ends in it.
fn whole_record(folder: &Path) -> (Vec<u8>, u64) {
    ringfence(folder, &command()).expect(0);
    let record = folder.join("run.rfr");
    let bytes = fs::read(&record).unwrap();
    fs::remove_file(record).unwrap();
    let mut reader = Reader::new(&bytes[..]).unwrap();
    while !matches!(reader.next(), Some(Ok(Event::CaseEnd { .. }))) {}
    let first_end = reader.offset();
    (bytes, first_end)
}

fn files(folder: &Path) -> [PathBuf; 2] {
    ["run.rfr", "run.rfr.part"].map(|name| folder.join(name))
}

#[test]
fn an_interrupted_run_leaves_its_finished_cases_and_the_next_run_replaces_them() {
    let folder = scratch();
    let folder = folder.path();
    let (whole, first_end) = whole_record(folder);
    let [record, partial] = files(folder);

    // Between two cases, and in the middle of writing the second one.
    for bytes in [first_end, first_end + 100] {
        assert!(!ringfence_cut_at(bytes, folder, &command()).success());
        assert!(
            !record.exists(),
            "half a record took the name of a whole one"
        );
        assert_eq!(fs::read(&partial).unwrap(), whole[..bytes as usize]);

        let text = ringfence(folder, "report run.rfr.part").expect(1).stdout;
        assert!(text.contains("the record ends early"), "{text}");
        let summary = ringfence(folder, "report --json run.rfr.part")
            .expect(1)
            .json();
        assert_eq!(summary["passed"], false);
        assert!(summary["damage"].as_str().unwrap().contains("ends early"));
        let finished = &summary["cases"][0];
        assert_eq!(finished["name"], "ideal");
        assert_eq!(finished["statistics"]["tasks"][0]["missed"], 0);
    }

    ringfence(folder, &command()).expect(0);
    assert!(!partial.exists());
    assert_eq!(fs::read(&record).unwrap(), whole);
}

#[test]
fn an_interrupted_run_leaves_an_older_record_as_it_was() {
    let folder = scratch();
    let folder = folder.path();
    let (_, first_end) = whole_record(folder);
    let [record, partial] = files(folder);
    fs::write(&record, "older").unwrap();
    assert!(!ringfence_cut_at(first_end, folder, &command()).success());
    assert_eq!(fs::read(&record).unwrap(), b"older");
    assert!(partial.exists());
}
