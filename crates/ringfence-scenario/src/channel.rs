//! Channels: what two virtual machines have in common.

use std::ops::{Range, RangeInclusive};

#[cfg(doc)]
use crate::vm::Device;

/// A channel between two VMs: memory that both have, notifications, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Unique name.
    pub name: String,
    /// Memory that both have, in bytes; whole pages, or 0 for none.
    pub size_bytes: u64,
    /// Where it is in the machine; `None` is wherever there is room.
    pub address: Option<u64>,
    /// Between two notifications of an end, at least, in nanoseconds; of [`Channel::INTERVAL_NS`].
    pub interval_ns: u64,
    /// Its two ends, of two VMs.
    pub ends: [ChannelEnd; 2],
}

/// What a VM has of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelEnd {
    /// Index into [`crate::model::Scenario::vms`].
    pub vm: usize,
    /// The shared interrupt that the other end can raise in it; of [`Device::INTERRUPTS`].
    pub interrupt: Option<u16>,
    /// Where its guest sees the memory; 0 if there is none.
    pub guest_address: u64,
    /// It may not write to the memory.
    pub reads_only: bool,
}

impl Channel {
    /// Channels that a scenario can have (`hyp/core/config.h`).
    pub const MAX: usize = 8;
    /// Bytes of a page, of which its memory has whole ones.
    pub const PAGE_BYTES: u64 = 4096;
    /// Lengths that an interval can have, in nanoseconds: those of a period.
    pub const INTERVAL_NS: RangeInclusive<u64> = 1_000..=1_000_000_000;
    /// Its interval unless it is told another.
    pub const DEFAULT_INTERVAL_NS: u64 = 100_000;
    /// Where guests have their devices (`hyp/core/arch.h`).
    pub const GUEST_DEVICES: Range<u64> = 0x0800_0000..0x0a00_0000;
}
