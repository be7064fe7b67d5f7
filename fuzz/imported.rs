//! A description of a run and its tables in one text: for the fuzzer and whoever replays what it found.

use std::collections::BTreeMap;
use std::io::{self, sink};
use std::path::{Path, PathBuf};

use ringfence_analysis::run::Run;
use ringfence_import::{FileKind, Source, import};
use ringfence_record::Writer;
use ringfence_report::{Report, terminal};

/// Begins the line above each table, before its name.
const MARK: &[u8] = b"=== ";

/// The description is what stands before the first table.
struct Files {
    description: Vec<u8>,
    tables: BTreeMap<PathBuf, Vec<u8>>,
}

impl Files {
    fn of(bytes: &[u8]) -> Self {
        let mut files = Self {
            description: Vec::new(),
            tables: BTreeMap::new(),
        };
        let mut name: Option<PathBuf> = None;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if let Some(table) = line.strip_prefix(MARK) {
                name = Some(String::from_utf8_lossy(table).trim().into());
            } else if let Some(name) = &name {
                files.tables.entry(name.clone()).or_default().extend(line);
            } else {
                files.description.extend(line);
            }
        }
        files
    }
}

impl Source for Files {
    fn read(&self, kind: FileKind, _: &Path, given: &Path) -> io::Result<Vec<u8>> {
        match kind {
            FileKind::Description => Ok(self.description.clone()),
            FileKind::Table => {
                let found = self.tables.get(given).cloned();
                found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such table"))
            }
        }
    }
}

/// What is taken makes a record that every reader takes; what is refused is refused at a place that
/// there is.
pub fn judge(bytes: &[u8]) {
    let made = match import(Path::new("run.toml"), "0.1.0", &Files::of(bytes)) {
        Ok(made) => made,
        Err(error) => {
            assert!(
                error
                    .place
                    .is_none_or(|(line, column)| line >= 1 && column >= 1)
            );
            return;
        }
    };
    let mut writer = Writer::new(Vec::new(), &made.header).expect("memory");
    for event in &made.events {
        writer.write(event).expect("events in their place");
    }
    let record = writer.finish().expect("whole sections");
    let run = Run::read(&record[..]).expect("a header that can be read");
    assert!(run.damage.is_none(), "{:?}", run.damage);
    for case in &run.cases {
        assert!(case.is_ok(), "{case:?}");
    }
    terminal::write(&Report::new(run), &mut sink()).expect("a sink");
}
