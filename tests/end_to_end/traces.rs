//! Every shipped trace is one that a scenario can replay.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ringfence::{house, ringfence, scratch};

fn shipped() -> Vec<PathBuf> {
    let entries = fs::read_dir(house().join("traces")).expect("the shipped traces");
    let mut traces: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    traces.retain(|path| path.extension().is_some_and(|suffix| suffix == "rftrace"));
    traces.sort();
    traces
}

fn scenario(trace: &Path) -> String {
    format!(
        r#"
        [scenario]
        name = "replay"
        platform = "raspberry-pi-3"
        duration = "50 ms"

        [[gang]]
        name = "replay"
        priority = 10
        tolerance = "unlimited"

        [[gang.task]]
        name = "replay"
        period = "50 ms"
        cores = "0"
        program = {{ kind = "trace", file = {trace:?}, job = 0 }}

        [[case]]
        name = "solo"
        "#
    )
}

#[test]
fn each_is_replayed_by_a_scenario() {
    let traces = shipped();
    assert!(!traces.is_empty());
    for trace in traces {
        let trace = trace.canonicalize().unwrap();
        println!("{}", trace.display());
        let folder = scratch();
        fs::write(folder.path().join("replay.toml"), scenario(&trace)).unwrap();
        ringfence(folder.path(), "check replay.toml").expect(0);
        let summary = ringfence(folder.path(), "run --json -o run.rfr replay.toml").expect(0);
        let task = &summary.json()["cases"][0]["statistics"]["tasks"][0];
        assert_eq!(
            (&task["finished"], &task["missed"]),
            (&1.into(), &0.into()),
            "{task:#}"
        );

        fs::copy(&trace, folder.path().join("trace")).unwrap();
        let info = ringfence(folder.path(), "trace info --json trace").expect(0);
        let instructions = info.json()["jobs"][0]["instructions"].as_u64().unwrap();
        // At 1.2 GHz the core needs more than half a nanosecond for each instruction.
        let response_ns = task["response"]["max_ns"].as_u64().unwrap();
        assert!(
            response_ns > instructions / 2,
            "{response_ns} ns, {instructions} instructions"
        );
    }
}
