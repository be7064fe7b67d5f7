//! A made-up run, for tests: a slot-by-slot schedule of two gangs next to
//! best-effort work. Plausible, deterministic, and no model of anything.

mod play;
mod wander;

use ringfence_analysis::run::Run;
use ringfence_record::Writer;
use ringfence_record::event::{Event, Header, Input, InputKind};
use ringfence_report::Report;

use play::Made;

const SLOT_NS: u64 = 50_000;
const PERIOD_NS: u64 = 1_000_000;
const DURATION_NS: u64 = 1_200_000_000;
const CORES: u16 = 4;
/// Bytes that an unthrottled aggressor moves in a slot: 3 GB/s.
const AGGRESSOR_BYTES: u64 = 150_000;
/// 100 MB/s while the gang that tolerates it runs.
const BUDGET_BYTES: u64 = 100_000;

/// What a sample case contains.
#[derive(Clone, Copy)]
struct Setting {
    name: &'static str,
    tasks: &'static [usize],
    best_effort: bool,
    ring_fenced: bool,
    /// How far from the truth a head is thought to be, where that is told.
    off_um: Option<i64>,
}

const SETTINGS: [Setting; 4] = [
    Setting {
        name: "solo/dnn",
        tasks: &[0],
        best_effort: false,
        ring_fenced: false,
        off_um: None,
    },
    Setting {
        name: "solo/corners",
        tasks: &[1],
        best_effort: false,
        ring_fenced: false,
        off_um: None,
    },
    Setting {
        name: "co-run",
        tasks: &[0, 1],
        best_effort: true,
        ring_fenced: false,
        off_um: Some(1_500_000),
    },
    Setting {
        name: "rt-gang",
        tasks: &[0, 1],
        best_effort: true,
        ring_fenced: true,
        off_um: Some(120_000),
    },
];

struct TaskSpec {
    name: &'static str,
    priority: u8,
    period_ns: u64,
    deadline_ns: u64,
    work_ns: u64,
    cores: &'static [u16],
}

const TASKS: [TaskSpec; 2] = [
    TaskSpec {
        name: "dnn",
        priority: 20,
        period_ns: 20_000_000,
        deadline_ns: 12_000_000,
        work_ns: 7_600_000,
        cores: &[0, 1],
    },
    TaskSpec {
        name: "corners",
        priority: 10,
        period_ns: 30_000_000,
        deadline_ns: 30_000_000,
        work_ns: 9_000_000,
        cores: &[2, 3],
    },
];

/// The header of the sample record.
pub fn header() -> Header {
    Header {
        target: "sim".into(),
        ringfence_version: "0.1.0".into(),
        scenario: "sample".into(),
        description: "Two gangs next to memory hogs; made up for tests.".into(),
        platform: "raspberry-pi-3".into(),
        kernel: None,
        seed: 7,
        overrides: vec!["--seed 7".into()],
        inputs: vec![
            input(InputKind::Scenario, Some("scenarios/sample.toml"), "9f"),
            input(InputKind::Platform, None, "3e"),
            input(InputKind::Trace, Some("../traces/corners.rftrace"), "c0"),
        ],
    }
}

fn input(kind: InputKind, path: Option<&str>, hash: &str) -> Input {
    Input {
        kind,
        path: path.map(Into::into),
        size_bytes: 2345,
        sha256: hash.repeat(32),
    }
}

/// The events of all sample cases, one section after the other.
pub fn events() -> Vec<Event> {
    SETTINGS
        .iter()
        .flat_map(|&setting| Made::new(setting).play())
        .collect()
}

/// The sample record, read and judged.
pub fn report() -> Report {
    report_of(&header(), &events())
}

/// A record of `events`, written, read and judged.
pub fn report_of(header: &Header, events: &[Event]) -> Report {
    let mut writer = Writer::new(Vec::new(), header).expect("a header fits");
    for event in events {
        writer.write(event).expect("sample events fit");
    }
    let record = writer.finish().expect("sample sections are complete");
    Report::new(Run::read(&record[..]).expect("a record just written can be read"))
}
