//! Values of keys: names, counts and quantities.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::de::DeValue;

use super::{Decode, Located, describe, shortened};
use crate::diagnostic::{Problems, Span};
use crate::duration::MAX_DURATION_NS;
use crate::quantity::{self, Dimension, QuantityError};
use crate::suggest::nearest;

/// Longest name, in characters: names head columns and name files.
const NAME_MAX: usize = 64;

/// A name: 1 to 64 characters on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(pub String);

/// Any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub String);

/// `true` or `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag(pub bool);

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count<const MIN: u64, const MAX: u64>(pub u64);

/// A factor with at most three decimals, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor(pub u32);

/// A list of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<Located<Name>>);

/// A time in whole nanoseconds, at most a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub u64);

/// A short time in whole picoseconds, at most a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FineTime(pub u64);

/// A size in bytes, at most a tebibyte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

/// A bandwidth in bytes per second, at most a tebibyte per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bandwidth(pub u64);

/// A frequency in hertz, 1 MHz to 100 GHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frequency(pub u64);

/// Implements [`Decode`] and [`JsonSchema`] of a quantity.
macro_rules! quantity {
    ($name:ident, $dimension:expr, $min:expr, $max:expr) => {
        impl Decode for $name {
            fn expected() -> String {
                expected_quantity(&$dimension)
            }

            fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
                decode_quantity(value, span, &$dimension, $min..=$max, problems).map(Self)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                quantity_schema(&$dimension)
            }
        }
    };
}

quantity!(Time, quantity::TIME, 0, MAX_DURATION_NS);
quantity!(FineTime, quantity::FINE_TIME, 0, 1_000_000_000_000);
quantity!(Size, quantity::SIZE, 0, 1 << 40);
quantity!(Bandwidth, quantity::BANDWIDTH, 0, 1 << 40);
quantity!(Frequency, quantity::FREQUENCY, 1_000_000, 100_000_000_000);

fn expected_quantity(dimension: &Dimension) -> String {
    format!("{} such as {:?}", dimension.name, dimension.example)
}

fn quantity_schema(dimension: &Dimension) -> Schema {
    let units: Vec<&str> = dimension.units.iter().map(|(unit, _)| *unit).collect();
    json_schema!({
        "type": "string",
        "title": dimension.name,
        "pattern": format!(r"^\s*[0-9]+(\.[0-9]+)?\s*({})\s*$", units.join("|")),
        "examples": [dimension.example],
    })
}

/// Reads a text that holds a quantity within `range`, in base units.
pub(crate) fn decode_quantity(
    value: &DeValue<'_>,
    span: Span,
    dimension: &Dimension,
    range: std::ops::RangeInclusive<u64>,
    problems: &mut Problems,
) -> Option<u64> {
    let expected = expected_quantity(dimension);
    let DeValue::String(text) = value else {
        let found = describe(value);
        match value {
            DeValue::Integer(_) | DeValue::Float(_) => problems.report_with_help(
                span,
                found,
                expected,
                "write the number with its unit, in quotes",
            ),
            _ => problems.report(span, found, expected),
        }
        return None;
    };
    match dimension.parse(text) {
        Ok(amount) if range.contains(&amount) => Some(amount),
        Ok(_) => {
            let (least, most) = (
                dimension.format(*range.start()),
                dimension.format(*range.end()),
            );
            problems.report(
                span,
                format!("{:?}", shortened(text)),
                format!("{} from {least} to {most}", dimension.name),
            );
            None
        }
        Err(error) => {
            report_quantity(text, span, dimension, &error, problems);
            None
        }
    }
}

fn report_quantity(
    text: &str,
    span: Span,
    dimension: &Dimension,
    error: &QuantityError,
    problems: &mut Problems,
) {
    let expected = expected_quantity(dimension);
    let units: Vec<&str> = dimension.units.iter().map(|(unit, _)| *unit).collect();
    let unit_list = super::quoted_list(&units);
    let shown = shortened(text);
    match error {
        QuantityError::NotANumber => {
            problems.report(span, format!("{shown:?}, which is no number"), expected)
        }
        QuantityError::NoUnit => problems.report_with_help(
            span,
            format!("{shown:?} without a unit"),
            expected,
            format!("add one of {unit_list}"),
        ),
        QuantityError::UnknownUnit(unit) => problems.report_with_help(
            span,
            format!("the unit `{}`", shortened(unit)),
            expected,
            format!("the units are {unit_list}"),
        ),
        QuantityError::TooFine => problems.report(
            span,
            format!("{shown:?}, which is finer than {}", dimension.resolution),
            format!("a multiple of {}", dimension.resolution),
        ),
        QuantityError::TooLarge => problems.report(
            span,
            format!("{shown:?}, which does not fit 64 bits"),
            expected,
        ),
    }
}

/// Reports a value that is none of the `words`.
pub(crate) fn report_word(
    value: &DeValue<'_>,
    span: Span,
    words: &[&str],
    expected: String,
    problems: &mut Problems,
) {
    match value
        .as_str()
        .and_then(|text| nearest(text, words.iter().copied()))
    {
        Some(near) => problems.report_with_help(
            span,
            describe(value),
            expected,
            format!("did you mean {near:?}?"),
        ),
        None => problems.report(span, describe(value), expected),
    }
}

impl Decode for Name {
    fn expected() -> String {
        "a name in quotes".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let Some(text) = value.as_str() else {
            problems.report(span, describe(value), Self::expected());
            return None;
        };
        let length = text.chars().count();
        let clean = text.trim() == text && !text.chars().any(char::is_control);
        if (1..=NAME_MAX).contains(&length) && clean {
            return Some(Self(text.to_owned()));
        }
        problems.report(
            span,
            if text.is_empty() {
                "an empty name".to_owned()
            } else {
                describe(value)
            },
            format!("a name of 1 to {NAME_MAX} characters on one line, no space around it"),
        );
        None
    }
}

impl Decode for Text {
    fn expected() -> String {
        "a text in quotes".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let text = value.as_str().map(|text| Self(text.to_owned()));
        if text.is_none() {
            problems.report(span, describe(value), Self::expected());
        }
        text
    }
}

impl Decode for Flag {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let flag = value.as_bool().map(Self);
        if flag.is_none() {
            problems.report(span, describe(value), Self::expected());
        }
        flag
    }
}

impl<const MIN: u64, const MAX: u64> Decode for Count<MIN, MAX> {
    fn expected() -> String {
        format!("a whole number from {MIN} to {MAX}")
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let number = whole_number(value).filter(|number| (MIN..=MAX).contains(number));
        if number.is_none() {
            let found = match value {
                DeValue::Integer(number) => format!("{number}"),
                other => describe(other),
            };
            problems.report(span, found, Self::expected());
        }
        number.map(Self)
    }
}

/// The value of a TOML integer that is not negative and fits 64 bits.
pub(crate) fn whole_number(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str().trim_start_matches('+'), number.radix()).ok()
}

impl Factor {
    /// Largest factor, in thousandths.
    const MAX: u32 = 1_000_000;
}

impl Decode for Factor {
    fn expected() -> String {
        "a factor from 1.0 to 1000.0 with at most three decimals".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let factor = match value {
            DeValue::Float(number) => thousandths(number.as_str()),
            DeValue::Integer(_) => whole_number(value).and_then(|number| number.checked_mul(1000)),
            _ => None,
        };
        let factor = factor
            .and_then(|factor| u32::try_from(factor).ok())
            .filter(|factor| (1000..=Self::MAX).contains(factor));
        if factor.is_none() {
            problems.report(span, describe(value), Self::expected());
        }
        factor.map(Self)
    }
}

/// `"2.5"` as 2500, exactly.
fn thousandths(text: &str) -> Option<u64> {
    let (digits, decimals) = quantity::parse_decimal(text.trim_start_matches('+')).ok()?;
    let scale = 10_u128.pow(3_u32.checked_sub(decimals)?);
    u64::try_from(digits.checked_mul(scale)?).ok()
}

impl Decode for Names {
    fn expected() -> String {
        "a list of names such as [\"camera\", \"planner\"]".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let Some(array) = value.as_array() else {
            problems.report(span, describe(value), Self::expected());
            return None;
        };
        let names: Vec<Option<Located<Name>>> = array
            .iter()
            .map(|item| {
                let span = item.span().into();
                let value = Name::decode(item.get_ref(), span, problems)?;
                Some(Located { value, span })
            })
            .collect();
        names.into_iter().collect::<Option<_>>().map(Self)
    }
}

/// Implements [`JsonSchema`] by a literal schema.
macro_rules! schema {
    ($name:ty, $schema:tt) => {
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

schema!(Name, {"type": "string", "minLength": 1, "maxLength": NAME_MAX, "title": "a name"});
schema!(Text, {"type": "string", "title": "a text"});
schema!(Flag, {"type": "boolean", "title": "true or false"});
schema!(Factor, {"type": "number", "minimum": 1, "maximum": 1000, "title": "a factor from 1.0 to 1000.0"});
schema!(Names, {"type": "array", "items": {"type": "string", "minLength": 1}, "title": "a list of names"});

impl<const MIN: u64, const MAX: u64> JsonSchema for Count<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Count{MIN}To{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer",
            "minimum": MIN,
            "maximum": MAX,
            "title": format!("a whole number from {MIN} to {MAX}"),
        })
    }
}
