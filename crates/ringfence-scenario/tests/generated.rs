//! Generated files are up to date. `UPDATE=1 cargo test` rewrites them.

use std::path::Path;

use ringfence_trace::{Access, Kind, Metadata, Writer};

fn check(path: &str, generated: impl AsRef<[u8]>) {
    let generated = generated.as_ref();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read(&path).unwrap_or_default();
    assert!(
        written == generated,
        "{} is out of date: run UPDATE=1 cargo test -p ringfence-scenario",
        path.display()
    );
}

#[test]
fn scenario_schema_is_up_to_date() {
    check(
        "schema/scenario.schema.json",
        ringfence_scenario::scenario_schema(),
    );
}

#[test]
fn platform_schema_is_up_to_date() {
    check(
        "schema/platform.schema.json",
        ringfence_scenario::platform_schema(),
    );
}

#[test]
fn reference_is_up_to_date() {
    check(
        "docs/src/scenario-reference.md",
        ringfence_scenario::reference_markdown(),
    );
}

/// A trace of `jobs` jobs with one access each.
fn trace(jobs: u32) -> Vec<u8> {
    let metadata = Metadata {
        program: "sample".into(),
        arguments: vec![],
        isa: "x86_64".into(),
        compilers: vec![],
        program_sha256: "00".repeat(32),
        recorder: "none, made by a test".into(),
        address_granularity_bytes: 1,
        marked_jobs: true,
        instruction_lines: false,
    };
    let mut writer = Writer::new(Vec::new(), &metadata).unwrap();
    for _ in 0..jobs {
        let access = Access {
            address: 64,
            instructions_before: 3,
            size: 8,
            kind: Kind::Load,
        };
        writer.access(access).unwrap();
        writer.end_job(2).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn sample_traces_are_up_to_date() {
    let tests = |file| format!("crates/ringfence-scenario/tests/{file}");
    let two_jobs = trace(2);
    let mut version_2 = trace(1);
    version_2[8] = 2;
    check(&tests("good/one-job.rftrace"), trace(1));
    check(&tests("bad/no-jobs.rftrace"), trace(0));
    check(&tests("bad/version-2.rftrace"), version_2);
    // The end of the second job and of the trace are missing.
    check(
        &tests("bad/truncated.rftrace"),
        &two_jobs[..two_jobs.len() - 40],
    );
}

/// Anchors are those that mdBook and sites that show Markdown give a heading.
#[test]
fn links_of_the_reference_lead_to_one_heading() {
    let page = ringfence_scenario::reference_markdown();
    let headings: Vec<String> = page
        .lines()
        .filter(|line| line.starts_with("## ") || line.starts_with("### "))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .collect();
    let plain = |text: &String| text.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ');
    assert!(headings.iter().all(plain), "{headings:?}");
    let anchors: Vec<String> = headings.iter().map(|text| text.replace(' ', "-")).collect();
    let links: Vec<&str> = page.split("](#").skip(1).collect();
    assert!(links.len() > 20, "{} links", links.len());
    for link in links {
        let (link, _) = link.split_once(')').unwrap();
        let leads_to = anchors.iter().filter(|anchor| *anchor == link).count();
        assert_eq!(leads_to, 1, "#{link}");
    }
}
