//! JSON with the liberties of rt-app's files: comments as in C, commas after the last
//! entry, and keys that come several times, in their order.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::Error;

/// A value. Objects keep the order of their keys, and those that come again.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    /// Too large, or with a fraction.
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Bool(value) => write!(formatter, "{value}"),
            Self::Integer(value) => write!(formatter, "{value}"),
            Self::Number(value) => write!(formatter, "{value}"),
            Self::Text(text) => write!(formatter, "{text:?}"),
            Self::List(_) => formatter.write_str("a list"),
            Self::Object(_) => formatter.write_str("an object"),
        }
    }
}

/// Reads a file.
pub(super) fn parse(text: &str) -> Result<Value, Error> {
    serde_json::from_str(&strict(text)).map_err(|error| {
        // serde_json ends with the place, which is said in front here.
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        Error::Json {
            line: error.line(),
            column: error.column(),
            message: message[..end].to_owned(),
        }
    })
}

/// The same text with blanks for comments and for commas before a closing bracket, so
/// that everything else stays in its place.
fn strict(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    blank_comments(&mut bytes);
    blank_last_commas(&mut bytes);
    // Blanks are put over whole comments, which begin and end with ASCII.
    String::from_utf8(bytes).unwrap_or_default()
}

fn blank_comments(bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        let end = match &bytes[at..] {
            [b'"', ..] => {
                at = end_of_text(bytes, at);
                continue;
            }
            [b'/', b'*', rest @ ..] => {
                let length = rest.windows(2).position(|pair| pair == b"*/");
                length.map_or(bytes.len(), |length| at + length + 4)
            }
            [b'/', b'/', rest @ ..] => {
                let length = rest.iter().position(|byte| *byte == b'\n');
                length.map_or(bytes.len(), |length| at + length + 2)
            }
            _ => {
                at += 1;
                continue;
            }
        };
        bytes[at..end]
            .iter_mut()
            .filter(|byte| **byte != b'\n')
            .for_each(|byte| *byte = b' ');
        at = end;
    }
}

fn blank_last_commas(bytes: &mut [u8]) {
    let mut comma = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                comma = None;
                at = end_of_text(bytes, at);
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
}

/// Where the text that begins at `start` has ended.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        let small = i64::try_from(value);
        Ok(small.map_or(Value::Number(value as f64), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            object.push(entry);
        }
        Ok(Value::Object(object))
    }
}
