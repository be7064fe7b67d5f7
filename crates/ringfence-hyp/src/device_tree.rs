//! The device tree of a Linux guest: what it has of the machine.

use std::ops::Range;

use crate::board::Gic;

use ringfence_scenario::vm::Device;
use vm_fdt::{FdtWriter, FdtWriterResult};

/// Interrupt specifiers of the GIC (Linux, arm,gic-v3.yaml): shared, private; level, active high.
const SHARED: u32 = 0;
const FIRST_SHARED: u16 = *Device::INTERRUPTS.start() as u16;
const PRIVATE: u32 = 1;
const LEVEL: u32 = 4;
/// Handles in the tree.
const GIC: u32 = 1;
const CLOCK: u32 = 2;
/// Linux asks the bus clock of a PrimeCell (arm,primecell.yaml) before it looks at it: always on.
const PRIMECELL: &str = "arm,primecell";
const PRIMECELL_CLOCK_HZ: u32 = 24_000_000;
/// Where a guest sees its devices: `docs/src/hypervisor.md`.
const DISTRIBUTOR: u64 = 0x0800_0000;
const REDISTRIBUTORS: u64 = 0x080a_0000;
const REDISTRIBUTOR_BYTES: u64 = 0x2_0000;
const CPU_INTERFACE: u64 = 0x0801_0000;
const UART: u64 = 0x0900_0000;

/// What a Linux guest has; addresses are the guest's.
#[derive(Debug)]
pub(crate) struct LinuxGuest<'a> {
    pub(crate) gic: Gic,
    pub(crate) vcpus: u32,
    pub(crate) memory: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) initrd: Option<Range<u64>>,
    pub(crate) command_line: &'a str,
    pub(crate) devices: &'a [Device],
}

/// The flattened tree.
pub(crate) fn linux_guest(guest: &LinuxGuest<'_>) -> FdtWriterResult<Vec<u8>> {
    let mut tree = FdtWriter::new()?;
    let root = tree.begin_node("")?;
    tree.property_u32("#address-cells", 2)?;
    tree.property_u32("#size-cells", 2)?;
    tree.property_u32("interrupt-parent", GIC)?;
    tree.property_string("compatible", "ringfence,guest")?;
    tree.property_string("model", "ringfence guest")?;
    chosen(&mut tree, guest)?;
    let memory = tree.begin_node(&format!("memory@{:x}", guest.memory))?;
    tree.property_string("device_type", "memory")?;
    tree.property_array_u64("reg", &[guest.memory, guest.memory_bytes])?;
    tree.end_node(memory)?;
    processors(&mut tree, guest.vcpus)?;
    devices(&mut tree, guest)?;
    for device in guest.devices.iter().filter(|it| !it.compatible.is_empty()) {
        own_device(&mut tree, device)?;
    }
    tree.end_node(root)?;
    tree.finish()
}

fn chosen(tree: &mut FdtWriter, guest: &LinuxGuest<'_>) -> FdtWriterResult<()> {
    let chosen = tree.begin_node("chosen")?;
    tree.property_string("bootargs", guest.command_line)?;
    tree.property_string("stdout-path", &format!("/serial@{UART:x}"))?;
    if let Some(initrd) = &guest.initrd {
        tree.property_u64("linux,initrd-start", initrd.start)?;
        tree.property_u64("linux,initrd-end", initrd.end)?;
    }
    tree.end_node(chosen)
}

fn processors(tree: &mut FdtWriter, vcpus: u32) -> FdtWriterResult<()> {
    let processors = tree.begin_node("cpus")?;
    tree.property_u32("#address-cells", 1)?;
    tree.property_u32("#size-cells", 0)?;
    for vcpu in 0..vcpus {
        let node = tree.begin_node(&format!("cpu@{vcpu}"))?;
        tree.property_string("device_type", "cpu")?;
        tree.property_string("compatible", "arm,armv8")?;
        tree.property_u32("reg", vcpu)?;
        tree.property_string("enable-method", "psci")?;
        tree.end_node(node)?;
    }
    tree.end_node(processors)?;
    let psci = tree.begin_node("psci")?;
    tree.property_string("compatible", "arm,psci-1.0")?;
    tree.property_string("method", "hvc")?;
    tree.end_node(psci)
}

fn devices(tree: &mut FdtWriter, guest: &LinuxGuest<'_>) -> FdtWriterResult<()> {
    let timer = tree.begin_node("timer")?;
    tree.property_string("compatible", "arm,armv8-timer")?;
    tree.property_null("always-on")?;
    // Physical, secure and not; virtual; the hypervisor's. The guest has the virtual one.
    let interrupts = [13, 14, 11, 10].map(|number| [PRIVATE, number, LEVEL]);
    tree.property_array_u32("interrupts", interrupts.as_flattened())?;
    tree.end_node(timer)?;
    let gic = tree.begin_node(&format!("interrupt-controller@{DISTRIBUTOR:x}"))?;
    let redistributors = REDISTRIBUTOR_BYTES * u64::from(guest.vcpus);
    // Name and frames: arm,gic-v3.yaml, arm,gic.yaml.
    let (name, frames) = match guest.gic {
        Gic::V2 => ("arm,gic-400", [DISTRIBUTOR, 0x1000, CPU_INTERFACE, 0x2000]),
        Gic::V3 => (
            "arm,gic-v3",
            [DISTRIBUTOR, 0x1_0000, REDISTRIBUTORS, redistributors],
        ),
    };
    tree.property_string("compatible", name)?;
    tree.property_null("interrupt-controller")?;
    tree.property_u32("#interrupt-cells", 3)?;
    tree.property_array_u64("reg", &frames)?;
    tree.property_phandle(GIC)?;
    tree.end_node(gic)?;
    let clock = tree.begin_node("clock")?;
    tree.property_string("compatible", "fixed-clock")?;
    tree.property_u32("#clock-cells", 0)?;
    tree.property_u32("clock-frequency", PRIMECELL_CLOCK_HZ)?;
    tree.property_phandle(CLOCK)?;
    tree.end_node(clock)?;
    let uart = tree.begin_node(&format!("serial@{UART:x}"))?;
    tree.property_string("compatible", "arm,sbsa-uart")?;
    tree.property_array_u64("reg", &[UART, 0x1000])?;
    tree.property_array_u32("interrupts", &[SHARED, 1, LEVEL])?;
    tree.property_u32("current-speed", 115_200)?;
    tree.end_node(uart)
}

fn own_device(tree: &mut FdtWriter, device: &Device) -> FdtWriterResult<()> {
    let node = tree.begin_node(&format!("device@{:x}", device.address))?;
    tree.property_string_list("compatible", device.compatible.clone())?;
    tree.property_array_u64("reg", &[device.address, device.size_bytes])?;
    let specifier = |&number: &u16| [SHARED, u32::from(number - FIRST_SHARED), LEVEL];
    let interrupts: Vec<[u32; 3]> = device.interrupts.iter().map(specifier).collect();
    if !interrupts.is_empty() {
        tree.property_array_u32("interrupts", interrupts.as_flattened())?;
    }
    if device.compatible.iter().any(|name| name == PRIMECELL) {
        tree.property_u32("clocks", CLOCK)?;
        tree.property_string("clock-names", "apb_pclk")?;
    }
    tree.end_node(node)
}
