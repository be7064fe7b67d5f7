//! Scenario and platform files.
//!
//! [`model`] and [`platform`] hold the checked scenario as every target sees
//! it: plain values in base units, every cross-reference resolved.

pub mod model;
pub mod platform;
