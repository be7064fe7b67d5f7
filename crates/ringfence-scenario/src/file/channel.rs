//! Channels between virtual machines, as they are written.

use super::macros::file_table;
use super::value::{Count, Flag, Name, Size, Time};
use super::vm::Address;
use super::{List, Located};

file_table! {
    /// What two VMs have in common: memory, notifications, or both. No other VM has any of it. In a
    /// case with one of the two, that one has the memory, and nobody to notify. A simulation has no
    /// channels.
    ///
    /// A VM notifies the other one with a call to the hypervisor, and with the channel's number: its
    /// place in the file, from 0.
    #[schemars(title = "[[channel]]")]
    pub struct ChannelTable {
        /// Unique name.
        pub name: Located<Name>,
        /// Memory that both have: whole pages of 4 KiB, zero at the boot. Both see it as normal
        /// write-back memory, and cannot execute from it. Default: none.
        pub memory: Option<Located<Size>>,
        /// Where it is in the machine; the start of a page. Default: the first place with room.
        pub address: Option<Located<Address>>,
        /// Time between two notifications of an end, at least, `"1 us"` to `"1 s"`: what is
        /// asked for sooner is refused. Default: `"100 us"`.
        pub interval: Option<Located<Time>>,
        /// Its two ends.
        pub end: List<ChannelEndTable>,
    }
}

file_table! {
    /// What a VM has of a channel.
    #[schemars(title = "[[channel.end]]")]
    pub struct ChannelEndTable {
        /// The VM.
        pub vm: Located<Name>,
        /// The interrupt that the other end raises in it when it notifies: a shared one, an edge,
        /// and of no device or other channel of the VM. What number the machine's devices have in
        /// other VMs is nothing to it. Default: it is not notified.
        pub interrupt: Option<Located<Count<32, 1019>>>,
        /// Where its guest sees the memory: the start of a page, with nothing else of the VM
        /// there. Needed with `memory`.
        pub guest_address: Option<Located<Address>>,
        /// Whether it may not write to the memory; a write ends the VM. Default: `false`.
        pub reads_only: Option<Located<Flag>>,
    }
}
