//! What the tests that record have in common.

use ringfence_trace::RecordError;

/// Says that a test is skipped because it cannot record.
///
/// # Panics
///
/// In CI (the environment variable `CI` is set and not empty): there a test that does not run is a
/// failure.
pub fn skip(error: &RecordError) {
    let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!in_ci, "cannot record: {error}");
    eprintln!("skipped: {error}");
}
