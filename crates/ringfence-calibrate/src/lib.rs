//! Measures the machine that it runs on and describes it as a platform file.
//!
//! [`inventory`] reads what the system says, [`measure`] measures what it does not say,
//! [`platform_file`] writes both down with their sources, and [`pairs`] runs programs
//! side by side, to see what a prediction is worth. No figure of a platform comes from a
//! pair that [`pairs`] compares.

pub mod aggressor;
pub mod cpu;
pub mod cycles;
pub mod disturbance;
pub mod figures;
pub mod inventory;
pub mod knee;
pub mod large_pages;
pub mod measure;
pub mod pairs;
pub mod platform_file;
pub mod statistics;
