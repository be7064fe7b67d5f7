//! The safe Rust face of the policy core in `policy/`.
//!
//! The policies are state machines in C, the same source that runs in the kernel
//! and in the hypervisor. This crate compiles them and wraps each in a type;
//! the rules, and what a caller owes them, are stated in the C headers.

mod cpu_set;
pub mod gang;
pub mod lending;
pub mod periods;
pub mod regulator;
pub mod reservation;

pub use cpu_set::CpuSet;
