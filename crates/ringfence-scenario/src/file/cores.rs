//! Lists of cores, as rtla writes them: `"0-3,8"`, or `[0, 1]`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::de::DeValue;

use super::value::whole_number;
use super::{Decode, describe, shortened};
use crate::diagnostic::{Problems, Span};

/// Cores of the largest platform.
pub const CORES_MAX: u16 = 512;

/// Core numbers below [`CORES_MAX`], in the order of the file, without repetition; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cores(pub Vec<u16>);

/// Why a list of cores is none.
enum CoresError {
    Malformed,
    Empty,
    Backwards(u16, u16),
    Repeated(u16),
    TooLarge,
}

impl Decode for Cores {
    fn expected() -> String {
        "a list of cores such as \"0-3,8\" or [0, 1]".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let numbers = match value {
            DeValue::String(text) => parse_ranges(text),
            DeValue::Array(items) => items
                .iter()
                .map(|item| core_number(whole_number(item.get_ref())))
                .collect(),
            other => {
                problems.report(span, describe(other), Self::expected());
                return None;
            }
        };
        match numbers.and_then(distinct) {
            Ok(cores) => Some(Self(cores)),
            Err(error) => {
                report(&error, value, span, problems);
                None
            }
        }
    }
}

fn parse_ranges(text: &str) -> Result<Vec<u16>, CoresError> {
    if text.trim().is_empty() {
        return Err(CoresError::Empty);
    }
    let mut cores = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let first = core_number(digits(first))?;
        let last = core_number(digits(last))?;
        if first > last {
            return Err(CoresError::Backwards(first, last));
        }
        cores.extend(first..=last);
        if cores.len() > usize::from(CORES_MAX) {
            cores = distinct(cores)?;
        }
    }
    Ok(cores)
}

fn digits(text: &str) -> Option<u64> {
    let text = text.trim();
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| all_digits)
}

fn core_number(number: Option<u64>) -> Result<u16, CoresError> {
    let number = number.ok_or(CoresError::Malformed)?;
    u16::try_from(number)
        .ok()
        .filter(|&core| core < CORES_MAX)
        .ok_or(CoresError::TooLarge)
}

fn distinct(cores: Vec<u16>) -> Result<Vec<u16>, CoresError> {
    if cores.is_empty() {
        return Err(CoresError::Empty);
    }
    let mut seen = [false; CORES_MAX as usize];
    for &core in &cores {
        if std::mem::replace(&mut seen[usize::from(core)], true) {
            return Err(CoresError::Repeated(core));
        }
    }
    Ok(cores)
}

fn report(error: &CoresError, value: &DeValue<'_>, span: Span, problems: &mut Problems) {
    let shown = match value {
        DeValue::String(text) => format!("{:?}", shortened(text)),
        other => describe(other),
    };
    match error {
        CoresError::Malformed => problems.report(span, shown, Cores::expected()),
        CoresError::Empty => problems.report(span, "no core", "at least one core"),
        CoresError::Backwards(first, last) => problems.report_with_help(
            span,
            format!("the range {first}-{last}, which runs backwards"),
            Cores::expected(),
            format!("write {last}-{first}"),
        ),
        CoresError::Repeated(core) => {
            problems.report(span, format!("core {core} twice"), "each core once")
        }
        CoresError::TooLarge => problems.report(
            span,
            shown,
            format!("core numbers from 0 to {}", CORES_MAX - 1),
        ),
    }
}

impl JsonSchema for Cores {
    fn schema_name() -> Cow<'static, str> {
        "Cores".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "a list of cores",
            "description": "Core numbers from 0, as ranges in a text (`\"0-3,8\"`, the form rtla and taskset use) or as a list (`[0, 1]`).",
            "anyOf": [
                {"type": "string", "pattern": r"^\s*[0-9]+\s*(-\s*[0-9]+\s*)?(,\s*[0-9]+\s*(-\s*[0-9]+\s*)?)*$"},
                {"type": "array", "minItems": 1, "uniqueItems": true,
                 "items": {"type": "integer", "minimum": 0, "maximum": CORES_MAX - 1}},
            ],
            "examples": ["0-3,8", [0, 1]],
        })
    }
}
