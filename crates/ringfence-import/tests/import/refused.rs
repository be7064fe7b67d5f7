//! What description and tables say wrong is refused at its place.

use std::path::Path;

use proptest::prelude::*;
use ringfence_record::event::Event;

use crate::flight::*;

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

/// A line that is a comment or blank.
const NO_ROW: &str = "(# [a-z,\"#]{0,9})?";

proptest! {
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
