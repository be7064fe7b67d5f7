//! The text, parsed again, and the server.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use ringfence_linux::live::Snapshot;
use tiny_http::Server;

use super::exposition::text;
use crate::commands::live_example::snapshot;

/// A value by its name and labels.
type Samples = BTreeMap<(String, BTreeMap<String, String>), f64>;

/// Reads OpenMetrics as its specification has it, as far as it is used here; panics at
/// anything else.
fn parse(text: &str) -> Samples {
    let (mut samples, mut described) = (Samples::new(), BTreeMap::new());
    let text = text.strip_suffix("# EOF\n").expect("the end");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            let before = described.insert(name.to_owned(), kind.to_owned());
            assert_eq!(before, None, "{name} twice");
        } else if !line.starts_with("# HELP ") {
            let (name, labels, value) = sample(line);
            let family = match described.get(name.trim_end_matches("_total")) {
                Some(kind) if kind == "counter" => name.strip_suffix("_total").expect("_total"),
                _ => name.as_str(),
            };
            assert!(described.contains_key(family), "{line}");
            let before = samples.insert((name, labels), value);
            assert_eq!(before, None, "{line} twice");
        }
    }
    samples
}

fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let end = line.find(['{', ' ']).expect("a value");
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(list) = rest.strip_prefix('{') {
        rest = list;
        loop {
            let (label, quoted) = rest.split_once("=\"").expect("a label");
            let (value, after) = unescape(quoted);
            labels.insert(label.to_owned(), value);
            match after.strip_prefix(',') {
                Some(more) => rest = more,
                None => {
                    rest = after.strip_prefix('}').expect("the end of labels");
                    break;
                }
            }
        }
    }
    let value = rest.strip_prefix(' ').expect("a blank").parse();
    (name.to_owned(), labels, value.expect("a number"))
}

/// What is quoted, and what comes after the quote.
fn unescape(text: &str) -> (String, &str) {
    let (mut value, mut characters) = (String::new(), text.char_indices());
    while let Some((index, character)) = characters.next() {
        value.push(match character {
            '"' => return (value, &text[index + 1..]),
            '\\' => match characters.next().expect("an escape").1 {
                'n' => '\n',
                escaped => escaped,
            },
            character => character,
        });
    }
    panic!("no quote at the end of {text:?}")
}

fn value(samples: &Samples, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let labels = labels
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()));
    samples.get(&(name.to_owned(), labels.collect())).copied()
}

fn samples(snapshot: &Snapshot) -> Samples {
    parse(&text(Some(snapshot)).unwrap())
}

#[test]
fn what_is_seen_is_exported() {
    let samples = samples(&snapshot());
    let steering = [
        ("gang", "steering"),
        ("partition", "front"),
        ("priority", "30"),
    ];
    let slam = [("gang", "slam"), ("partition", "front"), ("priority", "10")];
    let budget = [("cpu", "1"), ("of", "time_nanoseconds")];
    for (name, labels, expected) in [
        ("ringfence_up", &[][..], Some(1.0)),
        ("ringfence_start_time_seconds", &[], Some(1_700_000_000.0)),
        (
            "ringfence_enforced",
            &[
                ("scenario", "car"),
                ("case", "rt-gang"),
                ("mode", "sched-ext"),
            ],
            Some(1.0),
        ),
        ("ringfence_gang_active", &steering, Some(1.0)),
        ("ringfence_gang_active", &slam, Some(0.0)),
        ("ringfence_gang_blocked", &slam, Some(1.0)),
        (
            "ringfence_gang_active_seconds_total",
            &steering,
            Some(37.02),
        ),
        ("ringfence_gang_jobs_total", &steering, Some(1200.0)),
        ("ringfence_gang_deadline_misses_total", &steering, Some(2.0)),
        // Nobody tells.
        ("ringfence_gang_jobs_total", &slam, None),
        ("ringfence_gang_deadline_misses_total", &slam, None),
        ("ringfence_cpu_is_throttled", &[("cpu", "0")], Some(1.0)),
        ("ringfence_cpu_is_throttled", &[("cpu", "3")], None),
        ("ringfence_cpu_throttled_total", &[("cpu", "0")], Some(12.0)),
        ("ringfence_cpu_budget_used", &budget, Some(50_000.0)),
        ("ringfence_cpu_budget", &budget, Some(100_000.0)),
        (
            "ringfence_partition_share_used_nanoseconds",
            &[("partition", "front")],
            Some(312_400_000.0),
        ),
        (
            "ringfence_partition_share_is_exhausted",
            &[("partition", "rear")],
            Some(1.0),
        ),
    ] {
        assert_eq!(value(&samples, name, labels), expected, "{name} {labels:?}");
    }
}

#[test]
fn where_nothing_is_enforced_nothing_else_is_told() {
    let samples = parse(&text(None).unwrap());
    assert_eq!(value(&samples, "ringfence_up", &[]), Some(0.0));
    assert_eq!(samples.len(), 1);
}

/// The page has a list of them.
#[test]
fn the_docs_list_every_metric() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/live.md");
    let page = std::fs::read_to_string(page).unwrap();
    let names: BTreeSet<String> = samples(&snapshot())
        .into_keys()
        .map(|(name, _)| name)
        .collect();
    for name in names {
        assert!(page.contains(&format!("| `{name}`")), "{name}");
    }
}

proptest! {
    #[test]
    fn any_name_is_read_as_it_was(names in prop::collection::btree_set(any::<String>(), 4)) {
        let mut seen = snapshot();
        for (gang, name) in seen.gangs.iter_mut().zip(&names) {
            gang.name.clone_from(name);
        }
        let samples = samples(&seen);
        let read: BTreeSet<String> = samples
            .into_keys()
            .filter(|(name, _)| name == "ringfence_gang_active")
            .map(|(_, labels)| labels["gang"].clone())
            .collect();
        prop_assert_eq!(read, names);
    }
}

fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("{request} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn who_does_not_end_a_request_or_read_an_answer_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::http("127.0.0.1:0").unwrap();
    let address = server.server_addr().to_string();
    let ends = AtomicBool::new(false);
    let answers = std::thread::scope(|scope| {
        scope.spawn(|| super::serve(&server, folder.path(), || ends.load(Ordering::Relaxed)));
        let mut silent = TcpStream::connect(&address).unwrap();
        silent.write_all(b"GET /metrics HTTP/1.1\r\nHo").unwrap();
        let mut deaf = TcpStream::connect(&address).unwrap();
        deaf.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n")
            .unwrap();
        let asked = ["GET /metrics", "GET /", "POST /metrics"];
        let mut answers = asked.map(|line| ask(&address, line)).to_vec();
        // What cannot be understood is an error, and no gang that is at rest.
        std::fs::write(folder.path().join("live.json"), "{").unwrap();
        answers.push(ask(&address, "GET /metrics"));
        ends.store(true, Ordering::Relaxed);
        answers
    });
    for (answer, status) in answers.iter().zip(["200", "404", "405", "500"]) {
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
    let (head, body) = answers[0].split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/openmetrics-text"), "{head}");
    assert_eq!(value(&parse(body), "ringfence_up", &[]), Some(0.0));
}
