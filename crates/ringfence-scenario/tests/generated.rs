//! Generated files are up to date. `UPDATE=1 cargo test` rewrites them.

use std::path::Path;

fn check(path: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
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
        &ringfence_scenario::scenario_schema(),
    );
}

#[test]
fn platform_schema_is_up_to_date() {
    check(
        "schema/platform.schema.json",
        &ringfence_scenario::platform_schema(),
    );
}

#[test]
fn reference_is_up_to_date() {
    check(
        "docs/src/scenario-reference.md",
        &ringfence_scenario::reference_markdown(),
    );
}
