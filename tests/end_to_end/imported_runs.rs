//! Runs that ringfence did not make: tables, a record of them, and its reports.

use std::fs;

use crate::ringfence::{ringfence, scratch};

const DESCRIPTION: &str = r#"
name = "flight"
target = "a program"
platform = "a clock"

[[case]]
name = "undisturbed"
duration = "200 ms"

[[case.task]]
name = "front-end"
priority = 30
period = "50 ms"
deadline = "50 ms"
jobs = { table = "jobs.csv" }

[[case.trajectory]]
name = "camera"
estimate = "camera.tum"
truth = "truth.tum"
median_limit_m = 0.3

[[case.measure]]
name = "median error"
quantity = "length"
limit = 0.3
values = { table = "sweep.csv", column = "ate_m" }
"#;

const TRUTH: &str =
    "1.00 0 0 0 0 0 0 1\n1.05 1 0 0 0 0 0 1\n1.10 1 2 0 0 0 0 1\n1.15 1 2 3 0 0 0 1\n";
/// The same in other coordinates: a quarter turn, and a shift.
const CAMERA: &str =
    "1.00 5 0 1 0 0 0 1\n1.05 5 1 1 0 0 0 1\n1.10 3 1 1 0 0 0 1\n1.15 3 1 4 0 0 0 1\n";
const JOBS: &str = "released_ns,started_ns,finished_ns,dropped_ns
0,0,4000000,\n50000000,50000000,54000000,\n100000000,100000000,104000000,\n150000000,150000000,154000000,\n";

#[test]
fn tables_of_a_run_become_a_record_that_every_report_reads() {
    let folder = scratch();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("run.toml", DESCRIPTION);
    write("truth.tum", TRUTH);
    write("camera.tum", CAMERA);
    write("jobs.csv", JOBS);
    write("sweep.csv", "seed,ate_m\n1,0.12\n2,0.29\n");
    let made = ringfence(folder.path(), "import-run run.toml -o run.rfr").expect(0);
    let said = "record: run.rfr: 1 cases, 4 jobs, 4 positions, 4 true positions, 2 values\n";
    assert_eq!((made.stdout.as_str(), made.stderr.as_str()), ("", said));
    let again = ringfence(folder.path(), "import-run run.toml -o again.rfr --json").expect(0);
    let said = again.json();
    assert_eq!(said["record"], "again.rfr");
    assert_eq!(said["contents"]["cases"], 1);
    assert_eq!(said["contents"]["jobs"], 4);
    assert_eq!(said["contents"]["true_positions"], 4);
    assert_eq!(said["contents"]["values"], 2);
    let refused = ringfence(folder.path(), "import-run run.toml -o - --json").expect(1);
    assert!(
        refused.stderr.contains("--output: found '-'"),
        "{}",
        refused.stderr
    );
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("run.rfr") == read("again.rfr"));

    let report = "report run.rfr --json --html run.html --csv tables --perfetto run.perfetto";
    let summary = ringfence(folder.path(), report).expect(0).json();
    let statistics = &summary["cases"][0]["statistics"];
    assert_eq!(statistics["tasks"][0]["response"]["median_ns"], 4_000_000);
    assert_eq!(statistics["trajectories"][0]["compared"], 4);
    assert_eq!(statistics["trajectories"][0]["error_um"]["max"], 0);
    assert_eq!(statistics["measures"][0]["values"]["max"], 290_000);
    assert_eq!(summary["header"]["inputs"][0]["kind"], "description");
    assert_eq!(summary["header"]["inputs"][4]["kind"], "table");
    let positions = String::from_utf8(read("tables/positions.csv")).unwrap();
    assert!(
        positions.contains("camera,true,50000000,,1000000,0,0,"),
        "{positions}"
    );
    let measures = String::from_utf8(read("tables/measures.csv")).unwrap();
    assert!(
        measures.contains("median error,length,290000,300000,"),
        "{measures}"
    );
    let printed = ringfence(folder.path(), "report run.rfr").expect(0).stdout;
    assert!(
        printed.contains("All 3 figures are within their limits."),
        "{printed}"
    );

    write("sweep.csv", "seed,ate_m\n1,0.12\n2,2.9\n");
    ringfence(folder.path(), "import-run run.toml -o run.rfr").expect(0);
    let missed = ringfence(folder.path(), "report run.rfr").expect(2).stdout;
    assert!(
        missed.contains("1 of 3 figures is above its limit."),
        "{missed}"
    );

    write("sweep.csv", "seed,ate_m\n1,far\n");
    let refused = ringfence(folder.path(), "import-run run.toml -o run.rfr").expect(1);
    assert!(
        refused.stderr.contains("sweep.csv:2:3: found \"far\""),
        "{}",
        refused.stderr
    );
    ringfence(folder.path(), "report run.rfr").expect(2);
}
