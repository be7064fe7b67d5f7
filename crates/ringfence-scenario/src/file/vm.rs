//! Virtual machines, as they are written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::Spanned;
use toml::de::DeValue;

use super::macros::file_table;
use super::numbers::{Colours, Cores};
use super::scenario::{BestEffortTable, TaskTable};
use super::value::{Bandwidth, Count, Flag, Name, Names, Size, Text, Time, whole_number};
use super::{Decode, List, Located, describe};
use crate::diagnostic::{Problems, Span};

file_table! {
    /// A virtual machine (VM): cores, RAM and devices of its own, and a
    /// reservation of memory bandwidth.
    ///
    /// A scenario has gangs or VMs, not both: gangs share cores that ringfence
    /// schedules; a VM has its cores for itself, and its guest schedules them.
    /// In a simulation a VM's tasks run above its best-effort work, by fixed
    /// priority. A hypervisor boots its guest instead.
    #[schemars(title = "[[vm]]")]
    pub struct VmTable {
        /// Unique name.
        pub name: Located<Name>,
        /// Its cores, at most eight and no other VM's: vCPU `n` is core number
        /// `n` of the list, always.
        pub cores: Located<Cores>,
        /// Its RAM: a size, or a table with `size`, `guest_address` and `address`.
        /// A hypervisor needs it.
        pub memory: Option<Located<Memory>>,
        /// Page colours of the last-level cache that its memory has, in cases with
        /// `cache_allocation`: VMs without a colour in common never compete for a set of the
        /// cache. Either each VM has some or none has; what two VMs list, they share. A VM that
        /// lists all of the platform's is in one piece of memory. Default: nobody looks at colours.
        pub colours: Option<Located<Colours>>,
        /// What it boots. A hypervisor needs it.
        pub guest: Option<Located<GuestTable>>,
        /// Devices of its own.
        #[schemars(with = "Option<List<DeviceTable>>")]
        pub device: List<DeviceTable>,
        /// Memory bandwidth that it has. Default: as much as it gets.
        pub reservation: Option<Located<ReservationTable>>,
        /// Whether it can have the input of the serial line, which one VM has at a time: the first
        /// that can, until somebody gives it to another. What is typed costs the VM that has it
        /// some time. Default: `true`.
        pub input: Option<Located<Flag>>,
        /// Pages in which its guest reads what reservations give and take. Default: none.
        pub statistics: Option<Located<StatisticsTable>>,
        /// What it does periodically in a simulation. `cores` are of the VM,
        /// all of them by default.
        #[schemars(with = "Option<List<TaskTable>>")]
        pub task: List<TaskTable>,
        /// What it does without an end in a simulation. `cores` are of the VM,
        /// all of them by default.
        #[schemars(with = "Option<List<BestEffortTable>>")]
        pub best_effort: List<BestEffortTable>,
    }
}

file_table! {
    /// RAM of a VM: one piece, of whole blocks of 2 MiB.
    #[schemars(title = "memory")]
    pub struct MemoryTable {
        /// How much.
        pub size: Located<Size>,
        /// Where the guest sees it; below 2^39. Default: `0x4000_0000`.
        pub guest_address: Option<Located<Address>>,
        /// Where it is in the machine. Default: the first place with room.
        pub address: Option<Located<Address>>,
    }
}

file_table! {
    /// What a VM boots: an `image` of a program without an operating system, or
    /// a Linux `kernel`.
    ///
    /// `guest = { image = "writer", arguments = [100_000, 50, 3] }`
    #[schemars(title = "guest")]
    pub struct GuestTable {
        /// A program without an operating system: one that comes with the
        /// hypervisor (`writer`, `spinner`, `manager`, `alarm` and others), or the path of a file
        /// with the bytes of the image, relative to the folder of the scenario
        /// file and with a `.` or `/` in it. It is loaded to the start of the VM's RAM.
        pub image: Option<Located<Text>>,
        /// Guest address of the image's first instruction. Default: the start of the VM's RAM.
        pub entry: Option<Located<Address>>,
        /// What the image finds in its first registers: at most four numbers. Default: none.
        pub arguments: Option<Located<Integers>>,
        /// Path of an uncompressed Linux kernel.
        pub kernel: Option<Located<Text>>,
        /// Path of Linux's first file system. Default: none.
        pub initrd: Option<Located<Text>>,
        /// Linux's command line. Default: empty.
        pub command_line: Option<Located<Text>>,
    }
}

file_table! {
    /// A device that belongs to the VM alone. The guest sees it where it is in the machine.
    #[schemars(title = "[[vm.device]]")]
    pub struct DeviceTable {
        /// Name, unique in its VM.
        pub name: Located<Name>,
        /// Where its registers are; the start of a page of 4 KiB.
        pub address: Located<Address>,
        /// Bytes of its registers: whole pages of 4 KiB.
        pub size: Located<Size>,
        /// Its interrupts, by their numbers in the interrupt controller: 32 to
        /// 1019. No other device has them. Default: none.
        pub interrupts: Option<Located<Integers>>,
        /// The names that Linux knows such a device by (`compatible` in a device tree), the
        /// most exact first. A Linux guest finds the device in its device tree then,
        /// with level interrupts. Default: it is in none.
        pub compatible: Option<Located<Names>>,
        /// Whether it reads or writes memory by itself. The hypervisor programs no SMMU:
        /// **through such a device its VM has all memory of the machine**, so its guest
        /// must be trusted with it. The VM's RAM must be where the guest sees it. Default: `false`.
        pub trusted_dma: Option<Located<Flag>>,
    }
}

file_table! {
    /// Pages of statistics that a VM's guest may read, under the hypervisor: what reservations
    /// gave and took, in each period.
    ///
    /// `statistics = { of = ["writer"], guest_address = 0x7000_0000 }`
    #[schemars(title = "statistics")]
    pub struct StatisticsTable {
        /// The VMs that they are about; it may be among them.
        pub of: Located<Names>,
        /// The start of a page of 4 KiB, where the guest has nothing else. The page of the VM with
        /// number `n` in the case, from 0, is `n` pages behind it; there are those of `of` only.
        pub guest_address: Located<Address>,
    }
}

file_table! {
    /// How much memory traffic a VM may cause in each period. What its vCPUs
    /// get of it adds up to the budget, to the event.
    ///
    /// `reservation = { budget = "100 MB/s", period = "100 us", shares = [1, 2] }`
    #[schemars(title = "reservation")]
    pub struct ReservationTable {
        /// A bandwidth, which becomes cache lines a period, rounded down; or the
        /// number of events a period of all vCPUs together. A bandwidth is a
        /// promise: those of all VMs together are at most what the platform's
        /// memory can always do. A number of events is a limit, and promises nothing.
        pub budget: Located<Budget>,
        /// How often it is refilled, `"1 us"` to `"1 s"`.
        pub period: Located<Time>,
        /// Which parts of the budget the vCPUs have: one whole number each, as
        /// ratios. None gets less than one event a period. Default: equal parts.
        pub shares: Option<Located<Integers>>,
        /// Whether its vCPUs lend what they will probably not use of a period. All VMs that
        /// lend or borrow have periods of one length. Default: `false`.
        pub lends: Option<Located<Flag>>,
        /// How many events a vCPU that has used its share borrows at once, of what others
        /// lend for the same period. Default: it never borrows.
        pub borrows: Option<Located<Count<1, { Budget::EVENTS_MAX }>>>,
        /// Who may change it at run time, and to what. Default: nobody.
        pub changes: Option<Located<ChangesTable>>,
    }
}

file_table! {
    /// Who may change a reservation at run time, by a call to the hypervisor, and to what. A
    /// change is for the VM's next period. `reservations.total` limits all together.
    ///
    /// `changes = { by = ["manager"], budget = [10, 400], period = ["50 us", "1 ms"] }`
    #[schemars(title = "changes")]
    pub struct ChangesTable {
        /// The VMs that may.
        pub by: Located<Names>,
        /// Fewest and most events a period of all vCPUs together; with the fewest, too, each
        /// vCPU has one.
        pub budget: Located<Integers>,
        /// Shortest and longest period. Default: the length stays, as it must for a VM that lends or borrows.
        pub period: Option<Located<Times>>,
    }
}

/// Times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times(pub Vec<u64>);

impl Decode for Times {
    fn expected() -> String {
        "a list of times such as [\"50 us\", \"1 ms\"]".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let Some(items) = value.as_array() else {
            problems.report(span, describe(value), Self::expected());
            return None;
        };
        let time = |item: &Spanned<DeValue<'_>>| {
            let time = Time::decode(item.get_ref(), item.span().into(), problems)?;
            Some(time.0)
        };
        items
            .iter()
            .map(time)
            .collect::<Option<Vec<u64>>>()
            .map(Self)
    }
}

impl JsonSchema for Times {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Times".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array", "items": Time::json_schema(generator),
            "title": "a list of times",
        })
    }
}

/// An address of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(pub u64);

impl Address {
    /// Physical addresses of Armv8-A are below (Arm DDI 0487, without FEAT_LPA).
    const END: u64 = 1 << 48;
}

impl Decode for Address {
    fn expected() -> String {
        "an address below 2^48 such as 0x4400_0000".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let address = whole_number(value).filter(|&address| address < Self::END);
        if address.is_none() {
            problems.report(span, describe(value), Self::expected());
        }
        address.map(Self)
    }
}

impl JsonSchema for Address {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer", "minimum": 0, "maximum": Self::END - 1,
            "title": "an address such as `0x4400_0000`",
        })
    }
}

/// Whole numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integers(pub Vec<u64>);

impl Decode for Integers {
    fn expected() -> String {
        "a list of whole numbers such as [1, 2, 3]".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let items = value.as_array().into_iter().flatten();
        let numbers: Option<Vec<u64>> = items.map(|item| whole_number(item.get_ref())).collect();
        let numbers = numbers.filter(|_| value.is_array());
        if numbers.is_none() {
            problems.report(span, describe(value), Self::expected());
        }
        numbers.map(Self)
    }
}

impl JsonSchema for Integers {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Integers".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array", "items": {"type": "integer", "minimum": 0},
            "title": "a list of whole numbers",
        })
    }
}

/// What a VM may use: a bandwidth or events a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Bytes per second.
    BytesPerSecond(u64),
    /// Events a period.
    Events(u64),
}

impl Budget {
    /// Largest number of events: what is left of 64 bits when "unlimited" is taken.
    pub const EVENTS_MAX: u64 = (1 << 63) - 1;
}

impl Decode for Budget {
    fn expected() -> String {
        "a bandwidth such as \"100 MB/s\", or a number of events a period such as 300".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        if value.is_str() {
            return Bandwidth::decode(value, span, problems)
                .map(|Bandwidth(rate)| Self::BytesPerSecond(rate));
        }
        let events = whole_number(value).filter(|&events| events <= Self::EVENTS_MAX);
        if events.is_none() {
            problems.report(span, describe(value), Self::expected());
        }
        events.map(Self::Events)
    }
}

impl JsonSchema for Budget {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Budget".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "a bandwidth, or events a period",
            "anyOf": [Bandwidth::json_schema(generator),
                      {"type": "integer", "minimum": 1, "maximum": Self::EVENTS_MAX}],
        })
    }
}

/// RAM of a VM: its size, or a table.
#[derive(Debug, Clone)]
pub struct Memory(pub MemoryTable);

impl Decode for Memory {
    fn expected() -> String {
        "a size such as \"16 MiB\", or a table with `size`, `guest_address` and `address`"
            .to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        match value {
            DeValue::Table(table) => {
                MemoryTable::decode_table(table, span, &[], problems).map(Self)
            }
            DeValue::String(_) => {
                let value = Size::decode(value, span, problems)?;
                Some(Self(MemoryTable {
                    size: Located { value, span },
                    guest_address: None,
                    address: None,
                }))
            }
            other => {
                problems.report(span, describe(other), Self::expected());
                None
            }
        }
    }
}

impl JsonSchema for Memory {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Memory".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [Size::json_schema(generator), generator.subschema_for::<MemoryTable>()],
        })
    }
}
