//! How right the work of a case was: where something was thought to be and where it was, and
//! figures that somebody measured.

use serde::{Deserialize, Serialize};

/// What a case tells of it; most tell nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Trajectories.
    pub trajectories: Vec<Trajectory>,
    /// Figures.
    pub measures: Vec<Measure>,
}

/// Where something was thought to be ([`Event::Position`]) and where it was
/// ([`Event::TruePosition`]).
///
/// A trajectory has a clock of its own, which begins at 0: what was recorded may be played faster
/// than it happened. A place is three lengths along axes at right angles, the third upwards, in
/// micrometres.
///
/// [`Event::Position`]: crate::event::Event::Position
/// [`Event::TruePosition`]: crate::event::Event::TruePosition
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trajectory {
    /// Name; trajectories of one name in several cases have the same true course.
    pub name: String,
    /// What has to be done to its positions before they are compared with the true ones.
    pub alignment: Alignment,
    /// Most that the median error may be; `None` is anything.
    pub median_limit_um: Option<u64>,
}

/// How the axes of positions lie to those of the true positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alignment {
    /// They are the same.
    Same,
    /// Somewhere else: the rotation and shift that bring the positions nearest to the true ones
    /// are taken out, as of one who cannot know where his way began.
    Rigid,
}

/// A figure that is measured once or several times, such as once for each seed
/// ([`Event::Measured`](crate::event::Event::Measured)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// Name; measures of one name in several cases are compared.
    pub name: String,
    /// Of what it is, and so its unit.
    pub quantity: Quantity,
    /// Most that each value may be; `None` is anything.
    pub limit: Option<i64>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// In micrometres.
    Length,
    /// In nanoseconds.
    Duration,
    /// In millionths.
    Share,
    /// A number of things.
    Count,
}
