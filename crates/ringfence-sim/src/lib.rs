//! Target `sim`: a scenario on a modelled board, deterministic to the byte.
//!
//! `machine/` executes accesses on cores, caches and DRAM, or plain time; `program/` produces
//! the accesses; `os/` decides which thread is on which core and writes the
//! record.

pub mod bench;
pub mod machine;
pub mod os;
pub mod plan;
mod program;
pub mod random;
pub mod run;
pub mod time;
