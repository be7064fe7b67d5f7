//! Virtual machines: what a hypervisor divides the platform into.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use ringfence_policy::reservation::{Reservation as Policy, Split};

/// A virtual machine (VM).
///
/// What its guest executes in a simulation is a gang and best-effort work of
/// the scenario, in the partition with the VM's number; see
/// [`crate::model::Scenario::vms`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    /// Unique name.
    pub name: String,
    /// Core of each vCPU, at most [`Vm::VCPUS_MAX`]; no core is in two VMs.
    pub cores: Vec<u16>,
    /// Its RAM; a hypervisor needs it, a simulation does not.
    pub memory: Option<Ram>,
    /// Page colours of its memory in cases with cache allocation, ascending; never empty, each
    /// below [`crate::platform::Platform::page_colours`]. Either all VMs of a
    /// scenario have some or none has.
    pub colours: Option<Vec<u16>>,
    /// What it boots; a hypervisor needs it, a simulation does not.
    pub guest: Option<Guest>,
    /// Devices of its own.
    pub devices: Vec<Device>,
    /// Memory bandwidth that it has; `None` is as much as it gets.
    pub reservation: Option<Reservation>,
    /// Index into [`crate::model::Scenario::gangs`] of its tasks; `None` when it has none.
    pub gang: Option<usize>,
    /// Indices into [`crate::model::Scenario::best_effort`] of its work without deadlines.
    pub best_effort: Vec<usize>,
    /// Indices into [`crate::model::Scenario::vms`], ascending: it may change the reservations
    /// of these, which have [`Reservation::bounds`].
    pub may_change: Vec<usize>,
    /// Whether it can have the input of the serial line.
    pub input: bool,
    /// Pages in which its guest reads what reservations give and take.
    pub statistics: Option<Statistics>,
}

impl Vm {
    /// Interrupt of a guest's serial line (`hyp/core/arch.h`): no other one of the guest's.
    pub const SERIAL_INTERRUPT: u64 = 33;
    /// vCPUs that a VM can have: those of a reservation
    /// (`policy/include/ringfence/reservation.h`).
    pub const VCPUS_MAX: usize = Policy::MAX_VCPUS;

    /// Page colours that both VMs list, ascending.
    pub fn shared_colours(&self, other: &Self) -> Vec<u16> {
        let [mine, theirs] = [self, other].map(|vm| vm.colours.as_deref().unwrap_or_default());
        let shared = mine.iter().filter(|colour| theirs.contains(colour));
        shared.copied().collect()
    }
}

/// RAM of a VM, in one piece. All of it is a multiple of [`Ram::ALIGNMENT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ram {
    /// Bytes; not 0.
    pub size_bytes: u64,
    /// Where the guest sees it.
    pub guest_address: u64,
    /// Where it is in the machine; `None` is wherever there is room.
    pub address: Option<u64>,
}

impl Ram {
    /// What a hypervisor maps at once: a block of a table of level 2 with pages
    /// of 4 KiB, in bytes (Arm DDI 0487, D8.2).
    pub const ALIGNMENT: u64 = 2 << 20;
    /// Where the guest sees its RAM unless it is told otherwise: as QEMU's `virt`.
    pub const GUEST_ADDRESS: u64 = 0x4000_0000;
    /// What a guest takes for physical addresses is below.
    pub const GUEST_END: u64 = 1 << 39;
}

/// Pages of statistics that a guest may read: that of the VM with number `n` in a case is
/// `n` pages behind the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// Indices into [`crate::model::Scenario::vms`], ascending, of the VMs that they are about;
    /// never empty.
    pub of: Vec<usize>,
    /// Where the guest would see the page of VM 0.
    pub guest_address: u64,
}

impl Statistics {
    /// Bytes of a VM's page (`hyp/core/statistics_page.h`).
    pub const PAGE_BYTES: u64 = 4096;
}

/// What a VM boots. Paths are resolved against the scenario's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guest {
    /// A program without an operating system.
    BareMetal {
        /// What is loaded to the start of the VM's RAM.
        image: Image,
        /// Guest address of the first instruction, in the VM's RAM.
        entry: u64,
        /// In the first registers of vCPU 0 at the entry; at most [`Guest::ARGUMENTS_MAX`].
        arguments: Vec<u64>,
    },
    /// Linux, with a device tree that describes the VM.
    Linux {
        /// An uncompressed kernel image.
        kernel: PathBuf,
        /// Its first file system.
        initrd: Option<PathBuf>,
        /// Its command line.
        command_line: String,
    },
}

impl Guest {
    /// Registers that a guest finds set when it starts.
    pub const ARGUMENTS_MAX: usize = 4;
}

/// An image of a guest without an operating system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// One of the guests that come with the hypervisor, by name.
    BuiltIn(String),
    /// A file with the bytes of the image.
    File(PathBuf),
}

/// A device that belongs to one VM alone, which sees it where it is in the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Name, unique in its VM.
    pub name: String,
    /// Where its registers are.
    pub address: u64,
    /// Bytes of its registers; whole pages, not 0.
    pub size_bytes: u64,
    /// Numbers of its interrupts, as the interrupt controller has them: shared
    /// peripheral interrupts, from [`Device::INTERRUPTS`].
    pub interrupts: Vec<u16>,
    /// What Linux knows it as, the most exact name first; none is in no device tree.
    pub compatible: Vec<String>,
    /// It reads or writes memory by itself, and nothing keeps it in its VM's.
    pub trusted_dma: bool,
}

impl Device {
    /// Devices that a VM can have, and interrupts of all of them together (`hyp/core/config.h`).
    pub const PER_VM_MAX: usize = 8;
    /// See [`Device::PER_VM_MAX`].
    pub const INTERRUPTS_PER_VM_MAX: usize = 31;
    /// Bytes of a page, of which a device has its own.
    pub const PAGE_BYTES: u64 = 4096;
    /// Shared peripheral interrupts of a GIC (Arm IHI 0069, 2.2.1).
    pub const INTERRUPTS: std::ops::RangeInclusive<u64> = 32..=1019;
}

/// Memory events that a VM may cause in each period, split over its vCPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Events of all vCPUs together in a period; not 0.
    pub budget_events: u64,
    /// What the budget was made from, in bytes per second; `None` when it was given in events.
    pub requested_bytes_per_second: Option<u64>,
    /// Length of a period, in nanoseconds; 1 us to 1 s.
    pub period_ns: u64,
    /// Weight of each vCPU; they add up to 1 to 2^32 - 1.
    pub weights: Vec<u32>,
    /// Share of each vCPU, in events a period, as the policy core cuts it off the
    /// budget; none is 0 and they add up to the budget.
    pub shares: Vec<u64>,
    /// Its vCPUs lend what they will probably not use of a period.
    pub lends: bool,
    /// Events that a vCPU of it borrows at once; 0 is never.
    pub borrows_events: u64,
    /// What it may be changed to at run time; `None` is nothing else.
    pub bounds: Option<ReservationBounds>,
}

/// What a reservation may be changed to, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservationBounds {
    /// Events of all vCPUs together in a period; none is without an event of its own.
    pub budget_events: RangeInclusive<u64>,
    /// Length of a period, in nanoseconds; 1 us to 1 s.
    pub period_ns: RangeInclusive<u64>,
}

impl Reservation {
    /// Lengths that a period can have, in nanoseconds (policy's `budget.h`).
    pub const PERIOD_NS: RangeInclusive<u64> = 1_000..=1_000_000_000;

    /// Whether its vCPUs lend or borrow.
    pub fn takes_part(&self) -> bool {
        self.lends || self.borrows_events > 0
    }

    /// Events a period of each vCPU with these weights, which add up to 1 to 2^32 - 1, of a
    /// budget of at most 2^63 - 1: as the policy core cuts it.
    pub fn shares_of(budget_events: u64, weights: &[u32]) -> Vec<u64> {
        let mut policy = Policy::new(budget_events, Split::Weighted(weights))
            .expect("a budget and weights in range");
        let share = |vcpu: u32| {
            policy
                .refill(vcpu, 0)
                .expect("a vCPU begins its first period");
            policy.share(vcpu).expect("a vCPU has a share")
        };
        (0..weights.len() as u32).map(share).collect()
    }
}
