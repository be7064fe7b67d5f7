//! Where a record comes from: what ran, from which files, changed by which flags.

use ringfence_record::event::{Header, Input};

/// What ran and where, on a line.
pub fn title(header: &Header) -> String {
    format!(
        "{} on {} ({})",
        header.scenario, header.platform, header.target
    )
}

/// Name of an input, such as `Scenario file`.
pub fn input_name(input: &Input) -> String {
    let noun = input.kind.noun();
    format!("{}{} file", noun[..1].to_uppercase(), &noun[1..])
}

/// Where an input lies, as it was given.
pub fn input_path(input: &Input) -> &str {
    input.path.as_deref().unwrap_or("built into ringfence")
}
