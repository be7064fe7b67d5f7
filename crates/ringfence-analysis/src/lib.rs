//! Verdicts and statistics, computed from the record alone, and schedulability,
//! computed before there is one.
//!
//! [`run::Run`] reads a record into one [`case::CaseRun`] per case. From it,
//! [`verdict`] judges what the case claims, without trusting the enforcer, and
//! [`statistics`] says how fast everything was. [`summary::Summary`] holds both
//! for a whole record, and [`compare`] sets two of them side by side.
//! [`schedulability`] bounds response times from a scenario.

pub mod accuracy;
pub mod cache_share;
pub mod case;
pub mod compare;
mod declarations;
mod differences;
pub mod distribution;
pub mod duration;
pub mod quantity;
pub mod read_case;
pub mod run;
pub mod schedulability;
pub mod spread;
pub mod statistics;
pub mod summary;
mod traffic;
pub mod verdict;
