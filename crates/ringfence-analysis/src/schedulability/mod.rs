//! Whether deadlines hold, computed before anything runs.
//!
//! [`problem`] takes a scenario apart into [`system`], with what best-effort work
//! costs by [`interference`]. [`demand`] says what delays a job,
//! [`response`] how long it takes at worst, and [`verdict`] what that means for a
//! partition.
//! The theory, its assumptions and its sources are in the book's chapter
//! "Analysis".

pub mod comparison;
pub mod composition;
pub mod demand;
pub mod interference;
pub mod problem;
pub mod response;
pub mod system;
pub mod verdict;
