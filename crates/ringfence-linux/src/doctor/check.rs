//! What one check says.

use serde::Serialize;

/// How much of a thing a machine gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It cannot be used.
    Unusable,
    /// It can be used, with the limits that are told.
    Limited,
    /// It is as it should be.
    Usable,
}

impl Level {
    /// As people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unusable => "unusable",
            Self::Limited => "limited",
            Self::Usable => "usable",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// What it is worth.
    pub state: Level,
    /// What was found.
    pub found: String,
    /// What that means for ringfence.
    pub why: String,
    /// What would change it; none where nothing has to or can.
    pub remedy: Option<String>,
}

impl Check {
    /// A check without a remedy.
    pub(super) fn new(
        name: &'static str,
        state: Level,
        found: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self {
            name,
            state,
            found: found.into(),
            why: why.into(),
            remedy: None,
        }
    }

    /// With what would change it.
    pub(super) fn remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}
