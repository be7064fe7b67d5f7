//! Measures the machine that it runs on and describes it as a platform file.
//!
//! [`ringfence_workloads::inventory`] reads what the system says, [`measure`] measures with
//! aggressors what it does not say, [`platform_file`] writes both down with their sources,
//! and [`pairs`] runs programs side by side, to see what a prediction is worth. No figure of
//! a platform comes from a pair that [`pairs`] compares.

pub mod disturbance;
pub mod figures;
pub mod knee;
pub mod measure;
pub mod pairs;
pub mod platform_file;
pub mod statistics;
