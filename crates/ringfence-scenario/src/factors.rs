//! Slowdown tables: how much tasks that run side by side slow each other down.
//!
//! A table is a TOML file with a table for each task, of the same form as
//! `slowed_by` in a scenario:
//!
//! ```toml
//! ["dnn"]
//! "tracker" = 1.25
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::diagnostic::{Diagnostics, Problems};
use crate::file::program::Slowdowns;
use crate::file::{Decode, Located};
use crate::load::{as_text, parse_toml};

/// How many times longer tasks take beside others, in thousandths, at least 1000.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Factors(BTreeMap<String, BTreeMap<String, u32>>);

impl Factors {
    /// Reads the table at `path`.
    ///
    /// # Errors
    /// All that is wrong with it, or that it cannot be read.
    pub fn load(path: &Path) -> Result<Self, Diagnostics> {
        let name = path.display().to_string();
        Self::parse(&as_text(std::fs::read(path), &name)?, &name)
    }

    /// Reads the table in `source`, which `file` names in messages.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn parse(source: &str, file: &str) -> Result<Self, Diagnostics> {
        let mut problems = Problems::new(file, source);
        let mut factors = Self::default();
        for (task, value) in parse_toml(source, &mut problems).iter().flatten() {
            let slowdowns = Slowdowns::decode(value.get_ref(), value.span().into(), &mut problems);
            for (Located { value: other, .. }, factor) in slowdowns.iter().flat_map(|s| &s.0) {
                factors.set(task.get_ref(), other, factor.0);
            }
        }
        match problems.is_empty() {
            true => Ok(factors),
            false => Err(Diagnostics::new([problems])),
        }
    }

    /// How many times longer `task` takes beside `other`, in thousandths.
    pub fn get(&self, task: &str, other: &str) -> Option<u32> {
        self.0.get(task)?.get(other).copied()
    }

    /// Notes that `task` takes `factor_milli` thousandths of its time beside `other`.
    pub fn set(&mut self, task: &str, other: &str, factor_milli: u32) {
        let of_task = self.0.entry(task.to_owned()).or_default();
        of_task.insert(other.to_owned(), factor_milli);
    }

    /// Every task and other task with their factor, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, u32)> {
        self.0.iter().flat_map(|(task, others)| {
            let others = others.iter();
            others.map(move |(other, factor)| (task.as_str(), other.as_str(), *factor))
        })
    }

    /// The table as a file.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for (task, others) in &self.0 {
            let _ = writeln!(text, "[{}]", quoted(task));
            for (other, factor) in others {
                let _ = writeln!(
                    text,
                    "{} = {}.{:03}",
                    quoted(other),
                    factor / 1000,
                    factor % 1000
                );
            }
            text.push('\n');
        }
        text
    }
}

/// `name` as a basic string of TOML: a value may also be a string over several
/// lines, as libraries choose for some texts, but a key may not.
fn quoted(name: &str) -> String {
    let mut text = String::from("\"");
    for character in name.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            _ if character.is_control() => {
                let _ = write!(text, "\\u{:04X}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text + "\""
}
