//! Main memory at command level.
//!
//! [`channel`] schedules commands to the banks of one channel in memory
//! clocks; [`address`] says which bank and row hold a line; [`controller`]
//! connects a channel to the last-level cache in picoseconds.

pub mod address;
pub mod channel;
pub mod command;
pub(super) mod controller;
mod device;
mod order;
mod queue;
mod timing;
