//! What tables say arrives in the record, and what they say wrong is refused at its place.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ringfence_analysis::accuracy::trajectories;
use ringfence_analysis::case::{CaseRun, JobEnd};
use ringfence_analysis::run::Run;
use ringfence_import::{FileKind, ImportError, Imported, Source, import};
use ringfence_record::Writer;
use ringfence_record::event::Event;

/// Files that are in no folder.
struct Memory(BTreeMap<PathBuf, Vec<u8>>);

impl Source for Memory {
    fn read(&self, _: FileKind, folder: &Path, given: &Path) -> io::Result<Vec<u8>> {
        let found = self.0.get(&folder.join(given)).cloned();
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
    }
}

const DESCRIPTION: &str = r#"name = "flight"
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

const JOBS: &str = "stage,released_ns,started_ns,finished_ns,dropped_ns
front-end,0,10,4000000,
mapping,4000000,4000000,9000000,
front-end,50000000,,,100000000
front-end,100000000,100000010,,
";

const TRUTH: &str = "# seconds x y z qx qy qz qw
1403636579.963555584 0 0 0 0 0 0 1
1403636580.013555584 1 0 0 0 0 0 1
1403636580.063555584 1 2 0 0 0 0 1
";

/// The same, a metre up.
const HEAD: &str = "1403636579.963555584 0 0 1 0 0 0 1
1403636580.013555584 1 0 1 0 0 0 1
1403636580.063555584 1 2 1 0 0 0 1
";

const SWEEP: &str = "experiment,seed,ate_m\nnone,1,0.1216\nslow,1,2.5\nnone,2,0.301\n";

fn files() -> Memory {
    let files = [
        ("results/run.toml", DESCRIPTION),
        ("results/jobs.csv", JOBS),
        ("results/truth.tum", TRUTH),
        ("results/head.tum", HEAD),
        ("results/sweep.csv", SWEEP),
    ];
    Memory(files.map(|(name, text)| (name.into(), text.into())).into())
}

fn imported(files: &Memory) -> Result<Imported, ImportError> {
    import(Path::new("results/run.toml"), "0.1.0", files)
}

/// As a reader of the record sees it.
fn read(imported: &Imported) -> Vec<CaseRun> {
    let mut writer = Writer::new(Vec::new(), &imported.header).unwrap();
    imported
        .events
        .iter()
        .for_each(|event| writer.write(event).unwrap());
    let run = Run::read(&writer.finish().unwrap()[..]).unwrap();
    assert!(run.damage.is_none());
    run.cases.into_iter().map(|case| case.unwrap()).collect()
}

#[test]
fn a_run_becomes_a_record() {
    let made = imported(&files()).unwrap();
    assert_eq!(
        (made.header.scenario.as_str(), made.header.seed),
        ("flight", 4)
    );
    let [case] = &read(&made)[..] else {
        panic!("one case")
    };
    assert_eq!(case.end_ns, 2_000_000_000);
    assert_eq!(case.case.gangs.len(), 1);
    assert!(case.case.tasks[1].sporadic);
    let ends: Vec<_> = case.jobs[0].iter().map(|job| job.end).collect();
    let expected = [
        JobEnd::Finished(4_000_000),
        JobEnd::Dropped(100_000_000),
        JobEnd::Unfinished,
    ];
    assert_eq!(ends, expected);
    assert_eq!(case.jobs[1][0].response_ns(), Some(5_000_000));
    let positions: Vec<_> = case.trajectories[0]
        .positions
        .iter()
        .map(|p| p.place.at_ns)
        .collect();
    assert_eq!(positions, [0, 50_000_000, 100_000_000]);
    let head = &trajectories(case)[0];
    assert_eq!(
        head.error_um.as_ref().unwrap().max,
        0,
        "a shift is taken out"
    );
    let values: Vec<_> = case.measures[0].iter().map(|one| one.value).collect();
    assert_eq!(values, [121_600, 301_000]);
    assert_eq!(case.case.accuracy.measures[0].limit, Some(300_000));
}

#[test]
fn without_alignment_a_shift_is_an_error() {
    let mut files = files();
    let text = DESCRIPTION.replace("median_limit_m = 0.3", "aligned = false");
    files.0.insert("results/run.toml".into(), text.into());
    let case = &read(&imported(&files).unwrap())[0];
    let head = &trajectories(case)[0];
    assert_eq!(head.error_um.as_ref().unwrap().min, 1_000_000);
}

/// What is said when `from` in a file is `to`.
fn refusal(file: &str, from: &str, to: &str) -> String {
    let mut files = files();
    let path = Path::new("results").join(file);
    let text = String::from_utf8(files.0[&path].clone()).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    files.0.insert(path, text.replacen(from, to, 1).into());
    match imported(&files) {
        Ok(_) => panic!("{file} with {to} is taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (file, from, to, said) in [
        (
            "run.toml",
            "\"2 s\"",
            "\"2\"",
            "results/run.toml:8:12: found \"2\", expected a time",
        ),
        (
            "run.toml",
            "seed = 4",
            "seeds = 4",
            "results/run.toml:4:1: unknown field `seeds`",
        ),
        (
            "run.toml",
            "priority = 30",
            "priority = 100",
            "results/run.toml:13:12: found 100, expected a priority",
        ),
        (
            "run.toml",
            "priority = 30\nperiod = \"50 ms\"\ndeadline = \"150 ms\"",
            "priority = 20\nperiod = \"50 ms\"\ndeadline = \"150 ms\"",
            "results/run.toml:21:12: found 20, but gang 'slam' has priority 30 by a task above; \
             expected 30, or another gang",
        ),
        (
            "run.toml",
            "\"2 s\"",
            "\"360000 s\"",
            "results/run.toml:8:12: found \"360000 s\", expected at most 78 hours",
        ),
        (
            "jobs.csv",
            "100000000,100000010",
            "1700000000000000000,1700000000000000010",
            "jobs.csv:5:11: found 1700000000000000000, expected nanoseconds since the start of the \
             case, at most 78 hours",
        ),
        (
            "run.toml",
            "period = \"50 ms\"",
            "period = \"0 ms\"",
            "results/run.toml:14:10: found a period of 0",
        ),
        (
            "run.toml",
            "median_limit_m = 0.3",
            "median_limit_m = -1",
            "results/run.toml:31:18: expected metres",
        ),
        (
            "run.toml",
            "limit = 0.3\nvalues",
            "limit = 1e30\nvalues",
            "results/run.toml:36:9: expected a number of a size",
        ),
        (
            "run.toml",
            "\"none\"",
            "\"any\"",
            "results/run.toml:37:20: sweep.csv has no row",
        ),
        (
            "run.toml",
            "\"truth.tum\"",
            "\"no.tum\"",
            "results/run.toml:30:9: no.tum: no such file",
        ),
        (
            "run.toml",
            "column = \"ate_m\"",
            "column = \"ate\"",
            "sweep.csv:1:1: found the columns experiment, seed, ate_m, expected one called 'ate'",
        ),
        (
            "run.toml",
            "stage = \"mapping\"",
            "stages = \"mapping\"",
            "jobs.csv:1:1: found the columns",
        ),
        (
            "jobs.csv",
            "50000000,,,100000000",
            "x,,,100000000",
            "jobs.csv:4:11: found \"x\", expected a time in whole nanoseconds",
        ),
        (
            "jobs.csv",
            "50000000,,,100000000",
            ",,,100000000",
            "jobs.csv:4:11: found nothing, expected when the job was released",
        ),
        (
            "jobs.csv",
            "50000000,,,100000000",
            "50000000,,,1",
            "jobs.csv:4:22: this job was dropped before it was released",
        ),
        (
            "jobs.csv",
            "50000000,,,",
            "50000000,60000000,,",
            "jobs.csv:4:30: this job was dropped, but it had started",
        ),
        (
            "jobs.csv",
            "0,10,4000000",
            "0,10,9",
            "jobs.csv:2:16: this job finished before it started",
        ),
        (
            "jobs.csv",
            "4000000,4000000,",
            "4000000,3999999,",
            "jobs.csv:3:17: this job started before it was released",
        ),
        (
            "jobs.csv",
            "100000000,100000010",
            "40000000,100000010",
            "jobs.csv:5:11: this job was released before that of the row above",
        ),
        (
            "jobs.csv",
            "mapping,4000000,",
            "mapping,",
            "jobs.csv:3:1: found 4 columns, expected 5",
        ),
        (
            "head.tum",
            "1 0 1",
            "1 x 1",
            "head.tum:2:24: found \"x\", expected metres",
        ),
        (
            "head.tum",
            "1 0 1",
            "1 1e30 1",
            "head.tum:2:24: found \"1e30\", expected metres",
        ),
        (
            "head.tum",
            "1 0 1",
            "NaN 0 1",
            "head.tum:2:22: found \"NaN\", expected metres",
        ),
        (
            "head.tum",
            "1 0 1",
            "0 1",
            "head.tum:2:1: found 7 columns, expected 8",
        ),
        (
            "truth.tum",
            "1403636580.013555584",
            "1403636579.963555584",
            "truth.tum:3:1: this time is not after that of the row before",
        ),
        (
            "truth.tum",
            "1403636580.013555584",
            "1403636580.0135555841",
            "truth.tum:3:1: found \"1403636580.0135555841\", expected seconds",
        ),
        (
            "truth.tum",
            "1403636580.013555584",
            "99999999999999999999",
            "truth.tum:3:1: found",
        ),
        (
            "sweep.csv",
            "0.301",
            "inf",
            "sweep.csv:4:8: found \"inf\", expected a number",
        ),
        (
            "sweep.csv",
            "0.301",
            "1e30",
            "sweep.csv:4:8: expected a number of a size",
        ),
    ] {
        let found = refusal(file, from, to);
        assert!(found.starts_with(said), "{found}\nbut expected\n{said}");
    }
}

/// A case with so many of one kind.
fn many(count: usize, one: &str) -> Memory {
    let mut files = files();
    let begin = DESCRIPTION.find("\n[[case.").unwrap();
    let text = DESCRIPTION[..begin].to_owned() + &one.repeat(count);
    files.0.insert("results/run.toml".into(), text.into());
    files
}

const TASK: &str = "
[[case.task]]
name = \"front-end\"
priority = 30
period = \"50 ms\"
deadline = \"50 ms\"
jobs = { table = \"jobs.csv\", where = { stage = \"front-end\" } }
";
const TRAJECTORY: &str = "\n[[case.trajectory]]\nname = \"head\"\nestimate = \"head.tum\"\n";
const MEASURE: &str = "
[[case.measure]]
name = \"median error\"
quantity = \"length\"
values = { table = \"sweep.csv\", column = \"ate_m\" }
";

#[test]
fn a_case_has_no_more_than_a_record_can_number() {
    for (what, one) in [
        ("tasks", TASK),
        ("trajectories", TRAJECTORY),
        ("measures", MEASURE),
    ] {
        let error = imported(&many(65536, one)).unwrap_err().to_string();
        let expected = format!(
            "results/run.toml:7:8: found 65536 {what} in this case, expected at most 65535"
        );
        assert_eq!(error, expected);
    }
    let made = imported(&many(65535, TASK)).unwrap();
    let released = |event: &&Event| matches!(event, Event::JobReleased { task: 65534, .. });
    assert_eq!(made.events.iter().filter(released).count(), 3);
}

#[test]
fn measures_of_one_name_have_one_quantity() {
    let mut files = files();
    let other = MEASURE.replace("length", "count");
    let text = format!("{DESCRIPTION}\n[[case]]\nname = \"slow\"\nduration = \"2 s\"\n{other}");
    let line = text.lines().count() - 1;
    files.0.insert("results/run.toml".into(), text.into());
    let error = imported(&files).unwrap_err().to_string();
    let expected = format!(
        "results/run.toml:{line}:12: 'median error' has another quantity above; expected the same one, or another name"
    );
    assert_eq!(error, expected);
}

#[test]
fn texts_have_to_be_text() {
    for name in ["run.toml", "jobs.csv", "head.tum", "sweep.csv"] {
        let mut files = files();
        files
            .0
            .insert(Path::new("results").join(name), b"a,b\n\xff,1\n".into());
        let error = imported(&files).unwrap_err().to_string();
        assert!(error.contains("UTF-8"), "{error}");
    }
}

/// Jobs in the order of release: what comes before the release, until the start, and until the finish.
fn any_jobs() -> impl Strategy<Value = Vec<(u32, Option<u32>, Option<u32>)>> {
    prop::collection::vec(any::<(u32, Option<u32>, Option<u32>)>(), 0..20)
}

fn text_of(jobs: &[(u32, Option<u32>, Option<u32>)]) -> (String, Vec<(u64, Option<u64>, JobEnd)>) {
    let mut text = String::from("stage,dropped_ns,released_ns,started_ns,finished_ns\n");
    let mut expected = Vec::new();
    let mut released_ns = 0;
    let shown = |ns: Option<u64>| ns.map_or_else(String::new, |ns| ns.to_string());
    for &(gap_ns, wait_ns, work_ns) in jobs {
        released_ns += u64::from(gap_ns);
        let started_ns = wait_ns.map(|wait_ns| released_ns + u64::from(wait_ns));
        let finished_ns = started_ns
            .zip(work_ns)
            .map(|(start, work)| start + u64::from(work));
        let dropped_ns = match started_ns {
            None => work_ns.map(|work_ns| released_ns + u64::from(work_ns)),
            Some(_) => None,
        };
        text += &format!(
            "front-end,{},{released_ns},{},{}\n",
            shown(dropped_ns),
            shown(started_ns),
            shown(finished_ns)
        );
        let end = match (finished_ns, dropped_ns) {
            (Some(ns), _) => JobEnd::Finished(ns),
            (None, Some(ns)) => JobEnd::Dropped(ns),
            (None, None) => JobEnd::Unfinished,
        };
        expected.push((released_ns, started_ns, end));
    }
    (text, expected)
}

/// A line that is a comment or blank.
const NO_ROW: &str = "(# [a-z,\"#]{0,9})?";

proptest! {
    #[test]
    fn every_job_arrives_as_its_row_says(jobs in any_jobs()) {
        let (text, expected) = text_of(&jobs);
        let mut files = files();
        files.0.insert("results/jobs.csv".into(), text.into());
        let case = &read(&imported(&files).unwrap())[0];
        let found: Vec<_> = case.jobs[0].iter().map(|job| (job.released_ns, job.started_ns, job.end)).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(case.jobs[1].is_empty());
    }

    #[test]
    fn every_position_arrives_to_the_micrometre(
        places in prop::collection::vec((1_u64..1 << 40, prop::array::uniform3(-1_000_000_000..1_000_000_000_i64)), 1..20),
    ) {
        let mut time_ns = 0;
        let mut text = String::new();
        let mut expected = Vec::new();
        for (gap_ns, um) in &places {
            time_ns += gap_ns;
            let [x, y, z] = um.map(|um| um as f64 / 1e6);
            text += &format!("{}.{:09} {x} {y} {z} 0 0 0 1\n", time_ns / 1_000_000_000, time_ns % 1_000_000_000);
            expected.push((time_ns - places[0].0, *um));
        }
        let mut files = files();
        files.0.insert("results/truth.tum".into(), text.clone().into());
        files.0.insert("results/head.tum".into(), text.into());
        let case = &read(&imported(&files).unwrap())[0];
        let found = case.trajectories[0].positions.iter().map(|p| (p.place.at_ns, p.place.position_um));
        prop_assert_eq!(found.collect::<Vec<_>>(), expected.clone());
        let truth = case.trajectories[0].truth.iter().map(|p| (p.at_ns, p.position_um));
        prop_assert_eq!(truth.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_wrong_row_is_said_with_its_line(
        mark in prop::sample::select(vec!["", "\u{feff}"]),
        above in prop::collection::vec(NO_ROW, 0..3),
        between in prop::collection::vec(prop_oneof![NO_ROW, Just("front-end,0,10,20,".to_owned())], 0..5),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        (wrong, said) in prop::sample::select(vec![
            ("front-end,x,,,", "11: found \"x\", expected a time"),
            ("front-end,,,", "1: found 4 columns, expected 5"),
        ]),
    ) {
        let head = JOBS.lines().next().unwrap().to_owned();
        let before: Vec<_> = above.iter().chain([&head]).chain(&between).cloned().collect();
        let text = |lines: &[String]| mark.to_owned() + &lines.join(end) + end;
        let mut files = files();
        let wrong_text = text(&before) + wrong + end;
        files.0.insert("results/jobs.csv".into(), wrong_text.into());
        let error = imported(&files).unwrap_err().to_string();
        let expected = format!("jobs.csv:{}:{said}", before.len() + 1);
        prop_assert!(error.starts_with(&expected), "{}, expected {}", error, expected);

        let no_such_column = text(&before).replace("started_ns", "begun_ns");
        files.0.insert("results/jobs.csv".into(), no_such_column.into());
        let error = imported(&files).unwrap_err().to_string();
        let expected = format!("jobs.csv:{}:1: found the columns", above.len() + 1);
        prop_assert!(error.starts_with(&expected), "{}, expected {}", error, expected);
    }

    #[test]
    fn no_text_makes_it_panic(
        name in prop::sample::select(vec!["run.toml", "jobs.csv", "head.tum", "sweep.csv"]),
        at in any::<prop::sample::Index>(),
        text in "[0-9.,:\\-e\"#\\[\\]= \n\\PC]{0,12}",
    ) {
        let mut files = files();
        let path = Path::new("results").join(name);
        let mut bytes = files.0[&path].clone();
        let at = at.index(bytes.len());
        let end = (at + 4).min(bytes.len());
        bytes.splice(at..end, text.bytes());
        files.0.insert(path, bytes);
        if let Ok(made) = imported(&files) {
            read(&made);
        }
    }
}
