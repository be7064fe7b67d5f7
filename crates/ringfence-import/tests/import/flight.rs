//! A made-up flight: a description and its tables.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use ringfence_analysis::case::CaseRun;
use ringfence_analysis::run::Run;
use ringfence_import::{FileKind, ImportError, Imported, Source, import};
use ringfence_record::Writer;

/// Files that are in no folder.
pub struct Memory(pub BTreeMap<PathBuf, Vec<u8>>);

impl Source for Memory {
    fn read(&self, _: FileKind, folder: &Path, given: &Path) -> io::Result<Vec<u8>> {
        let found = self.0.get(&folder.join(given)).cloned();
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
    }
}

pub const DESCRIPTION: &str = r#"name = "flight"
target = "a program"
platform = "virtual time"
seed = 4

[[case]]
name = "undisturbed"
duration = "2 s"

[[case.task]]
name = "front-end"
gang = "slam"
priority = 30
period = "50 ms"
deadline = "50 ms"
jobs = { table = "jobs.csv", where = { stage = "front-end" } }

[[case.task]]
name = "mapping"
gang = "slam"
priority = 30
period = "50 ms"
deadline = "150 ms"
sporadic = true
jobs = { table = "jobs.csv", where = { stage = "mapping" } }

[[case.trajectory]]
name = "head"
estimate = "head.tum"
truth = "truth.tum"
median_limit_m = 0.3

[[case.measure]]
name = "median error"
quantity = "length"
limit = 0.3
values = { table = "sweep.csv", column = "ate_m", where = { experiment = "none" } }
"#;

pub const JOBS: &str = "stage,released_ns,started_ns,finished_ns,dropped_ns
front-end,0,10,4000000,
mapping,4000000,4000000,9000000,
front-end,50000000,,,100000000
front-end,100000000,100000010,,
";

pub const TRUTH: &str = "# seconds x y z qx qy qz qw
1403636579.963555584 0 0 0 0 0 0 1
1403636580.013555584 1 0 0 0 0 0 1
1403636580.063555584 1 2 0 0 0 0 1
";

/// The same, a metre up.
pub const HEAD: &str = "1403636579.963555584 0 0 1 0 0 0 1
1403636580.013555584 1 0 1 0 0 0 1
1403636580.063555584 1 2 1 0 0 0 1
";

pub const SWEEP: &str = "experiment,seed,ate_m\nnone,1,0.1216\nslow,1,2.5\nnone,2,0.301\n";

pub fn files() -> Memory {
    let files = [
        ("results/run.toml", DESCRIPTION),
        ("results/jobs.csv", JOBS),
        ("results/truth.tum", TRUTH),
        ("results/head.tum", HEAD),
        ("results/sweep.csv", SWEEP),
    ];
    Memory(files.map(|(name, text)| (name.into(), text.into())).into())
}

pub fn imported(files: &Memory) -> Result<Imported, ImportError> {
    import(Path::new("results/run.toml"), "0.1.0", files)
}

/// As a reader of the record sees it.
pub fn read(imported: &Imported) -> Vec<CaseRun> {
    let mut writer = Writer::new(Vec::new(), &imported.header).unwrap();
    imported
        .events
        .iter()
        .for_each(|event| writer.write(event).unwrap());
    let run = Run::read(&writer.finish().unwrap()[..]).unwrap();
    assert!(run.damage.is_none());
    run.cases.into_iter().map(|case| case.unwrap()).collect()
}
