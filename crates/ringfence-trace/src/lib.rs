//! Memory-access traces of real programs: format and recorder.
//!
//! A trace (`.rftrace`) holds what a program did to memory, job by job: which
//! bytes it loaded and stored and how many instructions it executed between.
//! [`Writer`] and [`Reader`] stream it, [`Statistics`] sums it up.
//!
//! # File layout
//!
//! The 8 bytes of [`MAGIC`], the format version as a little-endian `u32`, then
//! blocks. A block is a kind (one byte), the length of its payload and the
//! CRC-32C of kind, length and payload (little-endian `u32` each), then the
//! payload:
//!
//! | kind | payload | where |
//! |---|---|---|
//! | `M` | [`Metadata`] as JSON | first block |
//! | `A` | up to 2^18 accesses of the current job, see `codec.rs` | any number in each job |
//! | `J` | `u64` accesses of the job, `u64` instructions after the last of them | ends each job |
//! | `E` | `u64` number of jobs | last block |
//!
//! Every block can be decoded without the ones before it.

mod access;
mod block;
mod codec;
mod error;
pub mod job_mark;
pub mod lackey;
mod metadata;
mod pages;
mod reader;
mod record;
mod statistics;
mod varint;
mod writer;

pub use access::{ADDRESS_LIMIT, Access, Kind, PAGE_BYTES};
pub use error::Error;
pub use metadata::Metadata;
pub use reader::{Job, Reader, read_all};
pub use record::{Progress, RecordError, RecordOptions, Recording, record};
pub use statistics::{LINE_BYTES, Statistics};
pub use writer::Writer;

/// First bytes of every trace file.
pub const MAGIC: [u8; 8] = *b"rftrace\n";

/// Version of the format that this crate reads and writes.
pub const VERSION: u32 = 1;
