//! Tolerances of gangs and the share of real-time work.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::de::DeValue;

use super::macros::file_table;
use super::value::{Bandwidth, Time, report_word};
use super::{Decode, Located, describe};
use crate::diagnostic::{Problems, Span};

/// How much traffic is accepted: `"none"`, `"unlimited"` or a bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Bytes per second; `None` is unlimited.
    pub bytes_per_second: Option<u64>,
}

impl Decode for Rate {
    fn expected() -> String {
        "a bandwidth such as \"100 MB/s\", \"none\" or \"unlimited\"".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let bytes_per_second = match value.as_str() {
            Some("none") => Some(0),
            Some("unlimited") => None,
            Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
                report_word(
                    value,
                    span,
                    &["none", "unlimited"],
                    Self::expected(),
                    problems,
                );
                return None;
            }
            _ => Some(Bandwidth::decode(value, span, problems)?.0),
        };
        Some(Self { bytes_per_second })
    }
}

impl JsonSchema for Rate {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "a bandwidth, \"none\" or \"unlimited\"",
            "anyOf": [{"enum": ["none", "unlimited"]}, Bandwidth::json_schema(generator)],
        })
    }
}

file_table! {
    /// Different limits for reading and writing.
    pub struct ReadWrite {
        /// Traffic read from memory. Default: `"unlimited"`.
        pub read: Option<Located<Rate>>,
        /// Traffic written to memory. Default: `"unlimited"`.
        pub write: Option<Located<Rate>>,
    }
}

/// What a gang tolerates: one [`Rate`] for reads and writes alike, or one each.
#[derive(Debug, Clone)]
pub struct Tolerance {
    /// Reads.
    pub read: Option<Located<Rate>>,
    /// Writes.
    pub write: Option<Located<Rate>>,
}

impl Decode for Tolerance {
    fn expected() -> String {
        format!("{} or {{ read = …, write = … }}", Rate::expected())
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        if value.is_table() {
            let ReadWrite { read, write } = ReadWrite::decode(value, span, problems)?;
            return Some(Self { read, write });
        }
        let rate = Located {
            value: Rate::decode(value, span, problems)?,
            span,
        };
        Some(Self {
            read: Some(rate.clone()),
            write: Some(rate),
        })
    }
}

impl JsonSchema for Tolerance {
    fn schema_name() -> Cow<'static, str> {
        "Tolerance".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "a tolerance",
            "description": "Traffic per best-effort core: a bandwidth such as `\"100 MB/s\"` for reads and writes alike, `\"none\"` (best-effort work stands still while the gang runs), `\"unlimited\"`, or a table with `read` and `write`.",
            "anyOf": [Rate::json_schema(generator), generator.subschema_for::<ReadWrite>()],
            "examples": ["100 MB/s", "none", {"read": "200 MB/s", "write": "50 MB/s"}],
        })
    }
}

file_table! {
    /// The most time that real-time work gets in every window.
    #[schemars(title = "[share]")]
    pub struct ShareTable {
        /// Real-time time allowed in a window; shorter than the window. Example: `"950 ms"`.
        pub limit: Located<Time>,
        /// Length of the window. Example: `"1 s"`.
        pub window: Located<Time>,
    }
}

/// The share of real-time work: limited or `"off"`.
#[derive(Debug, Clone)]
pub enum Share {
    /// `"off"`.
    Off,
    /// Limited.
    Limited(ShareTable),
}

impl Decode for Share {
    fn expected() -> String {
        "\"off\" or a table with `limit` and `window`".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        match value {
            DeValue::String(text) if text == "off" => Some(Self::Off),
            DeValue::Table(table) => {
                ShareTable::decode_table(table, span, &[], problems).map(Self::Limited)
            }
            other => {
                problems.report(span, describe(other), Self::expected());
                None
            }
        }
    }
}

impl JsonSchema for Share {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"const": "off"}, generator.subschema_for::<ShareTable>()],
        })
    }
}
