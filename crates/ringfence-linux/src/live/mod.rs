//! What happens on this machine now: partitions, gangs, budgets and deadlines while they are
//! enforced.
//!
//! Who enforces publishes where to look, and who looks does all the work. There are two places.
//! The scheduler's own maps hold what it decided; they are read from outside. All else lies on a
//! [`Board`], shared memory into which each writer only stores numbers: nothing is sent, nobody
//! listens and nobody waits, so that a look costs those who enforce nothing. A thread that
//! answers questions would share locks in the kernel and in the allocator with the agent of
//! portable mode, which would then wait for it, and so for the gangs that keep it from its CPU.
//!
//! [`Publication`] is the side of who enforces, [`find`] the one of who looks; what he sees is a
//! [`Snapshot`].

mod activity;
mod board;
mod jobs;
mod published;
mod reader;
pub mod snapshot;
pub(crate) mod state;
#[cfg(test)]
mod tests;

pub(crate) use activity::Activity;
#[cfg(test)]
pub(crate) use board::read as read_board;
pub use board::{Board, Shape};
pub(crate) use jobs::{Releases, Tally};
pub use published::{Publication, Subject};
pub use reader::{LiveError, find};
pub use snapshot::Snapshot;
pub use state::{PartitionState, Priorities};
