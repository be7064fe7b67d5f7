//! How a program tells the recorder where its jobs begin and end.
//!
//! The program maps one page at a fixed address and stores a byte into it, at
//! one offset for the begin of a job and at another for its end. Outside a
//! recording these are ordinary stores to an ordinary page. The Rust and C
//! sides are `ringfence_victims::job_mark` and `ringfence_job_mark.h`.

/// Address of the page: above what valgrind gives a program by itself (it
/// starts near 64 MiB), below its own memory at 64 GiB, and in the address
/// space of every 64-bit Linux.
pub const PAGE_ADDRESS: u64 = 0x6_6d61_0000;

/// A store of one byte here begins a job.
pub const BEGIN_OFFSET: u64 = 0;

/// A store of one byte here ends a job; in another cache line than the begin.
pub const END_OFFSET: u64 = 64;
