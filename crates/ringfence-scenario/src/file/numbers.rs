//! Lists of numbers, as rtla writes cores: `"0-3,8"`, or `[0, 1]`.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::de::DeValue;

use super::value::whole_number;
use super::{Decode, describe, shortened};
use crate::diagnostic::{Problems, Span};
use crate::platform::MemorySystem;

/// What is numbered.
pub trait Kind {
    /// One of them.
    const ONE: &'static str;
    /// Many of them; the schema's name with a capital letter.
    const MANY: &'static str;
    /// Most of them that a platform can have: numbers are below this.
    const MOST: u16;
}

/// Numbers below [`Kind::MOST`], in the order of the file, without repetition; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers<K>(pub Vec<u16>, PhantomData<K>);

/// Declares a kind of numbers and its list.
macro_rules! numbers {
    ($(#[$meta:meta])* $list:ident of $kind:ident: $one:literal, $many:literal, $most:expr) => {
        /// See the list of these.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $kind {}

        impl Kind for $kind {
            const ONE: &'static str = $one;
            const MANY: &'static str = $many;
            const MOST: u16 = $most;
        }

        $(#[$meta])*
        pub type $list = Numbers<$kind>;
    };
}

numbers! {
    /// Cores of a platform.
    Cores of Core: "core", "cores", 512
}
numbers! {
    /// Ways of the last-level cache.
    Ways of Way: "way", "ways", 64
}
numbers! {
    /// Page colours of the last-level cache.
    Colours of Colour: "colour", "colours", MemorySystem::PAGE_COLOURS_MAX
}

/// Why a list of numbers is none.
enum NumbersError {
    Malformed,
    Empty,
    Backwards(u16, u16),
    Repeated(u16),
    TooLarge,
}

impl<K: Kind> Decode for Numbers<K> {
    fn expected() -> String {
        format!("a list of {} such as \"0-3,8\" or [0, 1]", K::MANY)
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let numbers = match value {
            DeValue::String(text) => parse_ranges::<K>(text),
            DeValue::Array(items) => items
                .iter()
                .map(|item| number::<K>(whole_number(item.get_ref())))
                .collect(),
            other => {
                problems.report(span, describe(other), Self::expected());
                return None;
            }
        };
        match numbers.and_then(distinct::<K>) {
            Ok(numbers) => Some(Self(numbers, PhantomData)),
            Err(error) => {
                report::<K>(&error, value, span, problems);
                None
            }
        }
    }
}

fn parse_ranges<K: Kind>(text: &str) -> Result<Vec<u16>, NumbersError> {
    if text.trim().is_empty() {
        return Err(NumbersError::Empty);
    }
    let mut numbers = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let first = number::<K>(digits(first))?;
        let last = number::<K>(digits(last))?;
        if first > last {
            return Err(NumbersError::Backwards(first, last));
        }
        numbers.extend(first..=last);
        if numbers.len() > usize::from(K::MOST) {
            numbers = distinct::<K>(numbers)?;
        }
    }
    Ok(numbers)
}

fn digits(text: &str) -> Option<u64> {
    let text = text.trim();
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| all_digits)
}

fn number<K: Kind>(number: Option<u64>) -> Result<u16, NumbersError> {
    let number = number.ok_or(NumbersError::Malformed)?;
    u16::try_from(number)
        .ok()
        .filter(|&number| number < K::MOST)
        .ok_or(NumbersError::TooLarge)
}

fn distinct<K: Kind>(numbers: Vec<u16>) -> Result<Vec<u16>, NumbersError> {
    if numbers.is_empty() {
        return Err(NumbersError::Empty);
    }
    let mut seen = vec![false; usize::from(K::MOST)];
    for &number in &numbers {
        if std::mem::replace(&mut seen[usize::from(number)], true) {
            return Err(NumbersError::Repeated(number));
        }
    }
    Ok(numbers)
}

fn report<K: Kind>(error: &NumbersError, value: &DeValue<'_>, span: Span, problems: &mut Problems) {
    let one = K::ONE;
    let shown = match value {
        DeValue::String(text) => format!("{:?}", shortened(text)),
        other => describe(other),
    };
    match error {
        NumbersError::Malformed => problems.report(span, shown, Numbers::<K>::expected()),
        NumbersError::Empty => {
            problems.report(span, format!("no {one}"), format!("at least one {one}"));
        }
        NumbersError::Backwards(first, last) => problems.report_with_help(
            span,
            format!("the range {first}-{last}, which runs backwards"),
            Numbers::<K>::expected(),
            format!("write {last}-{first}"),
        ),
        NumbersError::Repeated(number) => problems.report(
            span,
            format!("{one} {number} twice"),
            format!("each {one} once"),
        ),
        NumbersError::TooLarge => problems.report(
            span,
            shown,
            format!("{one} numbers from 0 to {}", K::MOST - 1),
        ),
    }
}

impl<K: Kind> JsonSchema for Numbers<K> {
    fn schema_name() -> Cow<'static, str> {
        let (first, rest) = K::MANY.split_at(1);
        format!("{}{rest}", first.to_uppercase()).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (one, many) = (K::ONE, K::MANY);
        let mut capital = one.to_owned();
        capital[..1].make_ascii_uppercase();
        json_schema!({
            "title": format!("a list of {many}"),
            "description": format!("{capital} numbers from 0, as ranges in a text (`\"0-3,8\"`, the form rtla and taskset use) or as a list (`[0, 1]`)."),
            "anyOf": [
                {"type": "string", "pattern": r"^\s*[0-9]+\s*(-\s*[0-9]+\s*)?(,\s*[0-9]+\s*(-\s*[0-9]+\s*)?)*$"},
                {"type": "array", "minItems": 1, "uniqueItems": true,
                 "items": {"type": "integer", "minimum": 0, "maximum": K::MOST - 1}},
            ],
            "examples": ["0-3,8", [0, 1]],
        })
    }
}
