//! Target `linux`: gang scheduling, throttling and measurement on a live kernel.

pub mod counters;
pub mod recorder;
mod ring;
pub mod scheduler;
pub mod sys;
