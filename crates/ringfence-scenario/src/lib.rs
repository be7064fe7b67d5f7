//! Scenario and platform files.
//!
//! [`load`] turns a TOML file into a checked [`model::Scenario`] or says all
//! that is wrong with it ([`Diagnostics`]). [`model`] and [`platform`] hold the
//! checked scenario as every target sees it: plain values in base units, every
//! cross-reference resolved. Inside, `file` holds the files as they are written
//! and `check` turns them into the model. The trace files that a scenario names
//! are opened by way of `ringfence-trace`, which this crate stands on, so that a
//! scenario that passes has traces that can be replayed.

mod builtin;
pub mod channel;
mod check;
mod diagnostic;
mod duration;
mod factors;
mod file;
mod files;
mod load;
pub mod model;
pub mod network;
pub mod platform;
pub mod quantity;
mod reference;
mod schema;
mod suggest;
pub mod vm;

pub use builtin::{Builtin, DRAMS, PLATFORMS};
pub use diagnostic::{Diagnostic, Diagnostics, Span};
pub use duration::MAX_DURATION_NS;
pub use factors::Factors;
pub use files::{Disk, FileKind, Files, NoFiles};
pub use load::{load, load_dram, load_from, load_platform, parse, parse_dram, parse_platform};
pub use reference::reference_markdown;
pub use schema::{platform_schema, scenario_schema};
