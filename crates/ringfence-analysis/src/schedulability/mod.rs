//! Whether deadlines hold, computed before anything runs.
//!
//! [`problem`] takes a scenario apart into [`system`], with what best-effort work
//! costs by [`interference`] and full caches by [`caches`]. [`demand`] says what delays a job,
//! [`response`] how long it takes at worst, and [`verdict`] what that means for a
//! partition.
//! [`tolerance`] finds the largest budget of best-effort work that still fits,
//! [`propose`] virtual gangs, by [`composition`]; [`comparison`] says what other
//! ways of scheduling could guarantee.
//!
//! The theory, its assumptions and its sources are in the book's chapter
//! "Analysis".

pub mod caches;
pub mod comparison;
pub mod composition;
pub mod demand;
pub mod interference;
pub mod problem;
pub mod propose;
pub mod response;
pub mod system;
pub mod tolerance;
pub mod verdict;
