//! Names are data: none of them may break out of a report.

use crate::sample;
use proptest::prelude::*;
use ringfence_record::accuracy::{Accuracy, Alignment, Measure, Quantity, Trajectory};
use ringfence_record::event::{ClassOfService, Event};
use ringfence_report::{Report, html, perfetto, terminal};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)><!--";

/// The sample of one case with every name replaced.
fn renamed(name: &str) -> Report {
    let mut header = sample::header();
    header.scenario = name.into();
    header.description = name.into();
    header.platform = name.into();
    header.overrides = vec![name.into()];
    header.inputs[0].path = Some(name.into());
    header.inputs[0].sha256 = name.into();
    let mut events = sample::events();
    let end = events
        .iter()
        .position(|event| matches!(event, Event::CaseEnd { .. }));
    events.truncate(end.expect("the sample has an end") + 1);
    if let Event::CaseBegin(case) = &mut events[0] {
        case.name = name.into();
        case.partitions[0].name = name.into();
        case.gangs[0].name = name.into();
        case.tasks[0].name = name.into();
        case.threads[0].name = name.into();
        case.accuracy.trajectories.push(Trajectory {
            name: name.into(),
            alignment: Alignment::Same,
            median_limit_um: Some(1),
        });
        case.accuracy.measures.push(Measure {
            name: name.into(),
            quantity: Quantity::Share,
            limit: None,
        });
        case.classes_of_service.push(ClassOfService {
            name: name.into(),
            ways: vec![0],
            colours: vec![0],
            threads: vec![0],
        });
    }
    let (time_ns, at_ns, position_um) = (0, 0, [0; 3]);
    let told = [
        Event::Message {
            time_ns,
            text: name.into(),
        },
        Event::Position {
            time_ns,
            trajectory: 0,
            at_ns,
            position_um,
        },
        Event::TruePosition {
            time_ns,
            trajectory: 0,
            at_ns,
            position_um,
        },
        Event::Measured {
            time_ns,
            measure: 0,
            value: 1,
        },
    ];
    events.splice(1..1, told);
    sample::report_of(&header, &events)
}

fn page(report: &Report) -> String {
    let mut page = Vec::new();
    html::write(report, &mut page).expect("a vector takes everything");
    String::from_utf8(page).expect("the page is UTF-8")
}

/// What the browser reads as script data.
fn page_data(page: &str) -> &str {
    let begin = r#"<script id="report-data" type="application/json">"#;
    let data = page.split_once(begin).expect("the page has data").1;
    data.split_once("</script>").expect("the data ends").0
}

#[test]
fn markup_in_names_is_text() {
    let page = page(&renamed(HOSTILE));
    assert!(!page.contains("<img src=x"));
    assert_eq!(
        page.matches("</script>").count(),
        page.matches("<script").count()
    );
    assert!(page_data(&page).contains(r"\u003c/script>"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_name_leaves_page_and_trace_whole(name in "\\PC{0,12}[<>&\"'\\\\\u{2028}]{0,4}") {
        let report = renamed(&name);
        let page = page(&report);
        let data: serde_json::Value = serde_json::from_str(page_data(&page)).unwrap();
        prop_assert_eq!(&data["case_names"][0], &serde_json::Value::String(name));
        prop_assert!(page.trim_end().ends_with("</html>"));
        perfetto::write(&report, &mut Vec::new()).unwrap();
        terminal::write(&report, &mut Vec::new()).unwrap();
    }
}

/// The data of the sample's page when the second case that tells how right it was declares that
/// otherwise, and how many figures of measures the page has room for.
fn drawn_of(change: fn(&mut Accuracy)) -> (serde_json::Value, usize) {
    let mut events = sample::events();
    let told = events.iter_mut().filter_map(|event| match event {
        Event::CaseBegin(case) => Some(&mut case.accuracy),
        _ => None,
    });
    let mut told = told.filter(|accuracy| !accuracy.measures.is_empty());
    change(told.nth(1).expect("two cases tell"));
    let page = page(&sample::report_of(&sample::header(), &events));
    let figures = page.matches("<figure data-measure=").count();
    (serde_json::from_str(page_data(&page)).unwrap(), figures)
}

#[test]
fn what_has_one_name_and_two_quantities_is_drawn_apart() {
    let (data, figures) = drawn_of(|accuracy| accuracy.measures[0].quantity = Quantity::Count);
    let measures = data["measures"].as_array().unwrap();
    let quantities: Vec<_> = measures.iter().map(|one| &one["quantity"]).collect();
    assert_eq!(quantities, ["length", "count"]);
    for measure in measures {
        assert_eq!(measure["cases"].as_array().unwrap().len(), 1);
    }
    assert_eq!(figures, 2);
}

#[test]
fn a_limit_is_drawn_where_all_cases_have_the_same() {
    let limits = |change: fn(&mut Accuracy)| {
        let (data, _) = drawn_of(change);
        let limit = &data["measures"][0]["limit"];
        (
            limit.as_i64(),
            data["trajectories"][0]["median_limit_um"].as_i64(),
        )
    };
    assert_eq!(limits(|_| {}), (Some(300_000), Some(300_000)));
    let none = limits(|accuracy| {
        accuracy.measures[0].limit = None;
        accuracy.trajectories[0].median_limit_um = None;
    });
    assert_eq!(none, (Some(300_000), Some(300_000)));
    let other = limits(|accuracy| {
        accuracy.measures[0].limit = Some(1);
        accuracy.trajectories[0].median_limit_um = Some(1);
    });
    assert_eq!(other, (None, None));
}

#[test]
fn a_damaged_record_is_reported_up_to_the_damage() {
    let events = sample::events();
    let mut writer = ringfence_record::Writer::new(Vec::new(), &sample::header()).unwrap();
    events.iter().for_each(|event| writer.write(event).unwrap());
    let record = writer.finish().unwrap();
    let run = ringfence_analysis::run::Run::read(&record[..record.len() * 9 / 10]).unwrap();
    let report = Report::new(run);
    let page = page(&report);
    assert!(page.contains("the record ends early"));
    let mut text = Vec::new();
    terminal::write(&report, &mut text).unwrap();
    assert!(
        String::from_utf8(text)
            .unwrap()
            .contains("the record ends early")
    );
}
