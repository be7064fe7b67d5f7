//! The text reports, as they look.

use crate::sample;
use ringfence_record::RecordError;
use ringfence_record::event::Event;
use ringfence_report::{compare, csv, json, terminal};

fn text(write: impl FnOnce(&mut Vec<u8>) -> Result<(), ringfence_report::Error>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("a vector takes everything");
    String::from_utf8(bytes).expect("reports are UTF-8")
}

/// The first lines; the rest says nothing new about the form.
fn head(text: &str, lines: usize) -> String {
    text.lines().take(lines).collect::<Vec<_>>().join("\n")
}

#[test]
fn terminal_summary() {
    let report = sample::report();
    let coloured = text(|out| terminal::write(&report, out));
    let plain = anstream::adapter::strip_str(&coloured).to_string();
    assert!(
        plain.lines().all(|line| line.chars().count() <= 80),
        "{plain}"
    );
    for words in [
        "Deadline",
        "Left by real-time work",
        "Of all cores",
        "Nothing was promised.",
        "Budgets: promised and held.",
        "99 %: only where 100 jobs or more finished",
    ] {
        assert!(plain.contains(words), "{words}: {plain}");
    }
    insta::assert_snapshot!(plain);
}

#[test]
fn a_case_that_cannot_be_read_says_so_once() {
    let mut report = sample::report();
    report.summary.cases[0].statistics = None;
    let plain =
        anstream::adapter::strip_str(&text(|out| terminal::write(&report, out))).to_string();
    assert!(plain.contains("The record of this case cannot be relied on."));
    assert!(!plain.contains("could not be judged"), "{plain}");
}

#[test]
fn comparison_of_two_records() {
    let first = sample::report().summary;
    let mut header = sample::header();
    header.seed += 1;
    let events = sample::events();
    let second_case = events
        .iter()
        .position(|event| matches!(event, Event::CaseEnd { .. }));
    let second =
        sample::report_of(&header, &events[second_case.expect("a case ends") + 1..]).summary;
    let comparison = ringfence_analysis::compare::compare(&first, &second);
    let coloured = text(|out| compare::write(&comparison, ["before", "after"], out));
    insta::assert_snapshot!(anstream::adapter::strip_str(&coloured).to_string());
    let json = text(|out| compare::write_json(&comparison, out));
    let read: ringfence_analysis::compare::Comparison =
        serde_json::from_str(&json).expect("a comparison reads what it wrote");
    assert_eq!(read, comparison);
}

#[test]
fn csv_tables() {
    let report = sample::report();
    for table in csv::Table::ALL {
        let text = text(|out| csv::write(&report, table, out));
        insta::assert_snapshot!(table.name(), head(&text, 6));
    }
}

#[test]
fn json_summary_is_complete() {
    let report = sample::report();
    let text = text(|out| json::write(&report, out));
    let read: ringfence_analysis::summary::Summary =
        serde_json::from_str(&text).expect("a summary reads what it wrote");
    assert_eq!(read, report.summary);
}

#[test]
fn json_events_are_one_a_line() {
    let events = sample::events();
    let ok = events.iter().cloned().map(Ok::<_, RecordError>);
    let text = text(|out| json::write_events(&sample::header(), ok, out));
    assert_eq!(text.lines().count(), events.len() + 1);
    let read: Vec<ringfence_record::event::Event> = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).expect("an event reads what it wrote"))
        .collect();
    assert_eq!(read, events);
}
