//! The constant table that the hypervisor is configured with: `hyp/core/config.h`.

use std::fmt::Write as _;
use std::ops::Range;

use ringfence_scenario::channel::{Channel, ChannelEnd};
use ringfence_scenario::vm::{Device, Reservation};

use crate::colours::Colours;

/// One VM, placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableVm {
    /// Name.
    pub name: String,
    /// Core of each vCPU.
    pub cores: Vec<u16>,
    /// Guest address of the first instruction.
    pub entry: u64,
    /// What the first registers hold there.
    pub arguments: Vec<u64>,
    /// Where the guest sees its RAM.
    pub guest_address: u64,
    /// Where it is in the machine.
    pub address: u64,
    /// How much, in bytes.
    pub size_bytes: u64,
    /// Of its pages.
    pub colours: Colours,
    /// Its reservation, where it is held to one.
    pub reservation: Option<Reservation>,
    /// Numbers of the VMs in the table whose reservations it may change.
    pub may_change: Vec<usize>,
    /// Devices of its own.
    pub devices: Vec<Device>,
    /// Whether it can have the input of the serial line.
    pub input: bool,
    /// Pages of statistics that it may read: where they are for the guest, and the numbers of the
    /// VMs in the table that they are about.
    pub statistics: Option<(u64, Vec<usize>)>,
}

/// One channel, placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableChannel {
    /// What it is.
    pub channel: Channel,
    /// Numbers of the VMs at its ends in the table; `None` is not in it.
    pub vms: [Option<usize>; 2],
    /// Where its memory is in the machine, if it has some.
    pub address: u64,
}

/// The table as a C source. The same VMs give the same bytes.
pub fn table(
    title: &str,
    vms: &[TableVm],
    channels: &[TableChannel],
    events_per_second: Option<u64>,
    trace: Option<&Range<u64>>,
) -> String {
    let mut text = format!("/* {}: made by ringfence. */\n", comment(title));
    text += "#include \"config.h\"\n\n";
    for (number, vm) in vms.iter().enumerate() {
        if let Some(reservation) = &vm.reservation {
            let weights = list(reservation.weights.iter());
            line(
                &mut text,
                format_args!("static const uint32_t weights_{number}[] = {{{weights}}};"),
            );
        }
    }
    if vms.iter().any(|vm| vm.reservation.is_some()) {
        text.push('\n');
    }
    text += "static const struct vm_config vms[] = {\n";
    for (number, vm) in vms.iter().enumerate() {
        text += &vm_text(number, vm);
    }
    text += "};\n\n";
    if !channels.is_empty() {
        text += "static const struct channel_config channels[] = {\n";
        for channel in channels {
            text += &channel_text(channel);
        }
        text += "};\n\n";
    }
    text += "const struct machine_config machine_config = {\n";
    line(
        &mut text,
        format_args!("    .vm = vms,\n    .vms = {},", vms.len()),
    );
    if !channels.is_empty() {
        line(
            &mut text,
            format_args!(
                "    .channel = channels,\n    .channels = {},",
                channels.len()
            ),
        );
    }
    if let Some(total) = events_per_second {
        line(&mut text, format_args!("    .events_per_s = {total}U,"));
    }
    if let Some(trace) = trace {
        let size = trace.end - trace.start;
        line(
            &mut text,
            format_args!(
                "    .trace = {{.address = {:#x}, .size = {size:#x}}},",
                trace.start
            ),
        );
    }
    text + "};\n"
}

fn vm_text(number: usize, vm: &TableVm) -> String {
    let mut text = format!("    {{\n        .name = {},\n", string(&vm.name));
    line(&mut text, format_args!("        .entry = {:#x},", vm.entry));
    if !vm.arguments.is_empty() {
        let arguments = list(
            vm.arguments
                .iter()
                .map(|argument| format!("{argument:#x}U")),
        );
        line(
            &mut text,
            format_args!("        .arguments = {{{arguments}}},"),
        );
    }
    text += &memory_text(vm);
    text += &devices_text(&vm.devices);
    let cores = list(vm.cores.iter());
    line(&mut text, format_args!("        .cores = {{{cores}}},"));
    line(
        &mut text,
        format_args!("        .vcpus = {},", vm.cores.len()),
    );
    if let Some(reservation) = &vm.reservation {
        text += &reservation_text(number, reservation);
    }
    if !vm.input {
        text += "        .no_input = true,\n";
    }
    let may_change = vm.may_change.iter().fold(0_u32, |bits, vm| bits | 1 << vm);
    if may_change != 0 {
        line(
            &mut text,
            format_args!("        .may_change = {may_change:#x},"),
        );
    }
    if let Some((guest_address, of)) = &vm.statistics {
        let of = of.iter().fold(0_u32, |bits, vm| bits | 1 << vm);
        line(
            &mut text,
            format_args!(
                "        .statistics = {{.guest_address = {guest_address:#x}, .of = {of:#x}}},"
            ),
        );
    }
    text + "    },\n"
}

fn memory_text(vm: &TableVm) -> String {
    let (guest_address, address, size) = (vm.guest_address, vm.address, vm.size_bytes);
    let place =
        format!(".guest_address = {guest_address:#x}, .address = {address:#x}, .size = {size:#x}");
    if vm.colours.is_all() {
        return format!("        .memory = {{{{{place}}}}},\n");
    }
    let numbers = list(vm.colours.numbers());
    let end = address + vm.colours.span_bytes(size);
    format!(
        "        /* Pages of the colours {numbers} of {}, up to {end:#x}. */\n        \
         .memory = {{{{{place}, .colours = {:#x}}}}},\n",
        vm.colours.of, vm.colours.mask
    )
}

fn devices_text(devices: &[Device]) -> String {
    let mut text = String::new();
    if !devices.is_empty() {
        let region = |device: &Device| {
            let (address, size) = (device.address, device.size_bytes);
            format!("{{.address = {address:#x}, .size = {size:#x}}}")
        };
        let regions = list(devices.iter().map(region));
        line(&mut text, format_args!("        .devices = {{{regions}}},"));
    }
    let interrupts = list(devices.iter().flat_map(|device| &device.interrupts));
    if !interrupts.is_empty() {
        line(
            &mut text,
            format_args!("        .interrupts = {{{interrupts}}},"),
        );
    }
    text
}

fn channel_text(placed: &TableChannel) -> String {
    let channel = &placed.channel;
    let end = |end: &ChannelEnd, vm: Option<usize>| {
        format!(
            "{{.vm = {}, .interrupt = {}, .guest_address = {:#x}, .reads_only = {}}}",
            vm.map_or("CHANNEL_NOBODY".to_owned(), |number| number.to_string()),
            end.interrupt.unwrap_or(0),
            end.guest_address,
            end.reads_only
        )
    };
    let [first, second] = [0, 1].map(|n| end(&channel.ends[n], placed.vms[n]));
    format!(
        "    {{ /* {} */\n        .end = {{{first},\n                {second}}},\n        .address = {:#x},\n        \
         .size = {:#x},\n        .interval_ns = {},\n    }},\n",
        comment(&channel.name),
        placed.address,
        channel.size_bytes,
        channel.interval_ns
    )
}

fn reservation_text(number: usize, reservation: &Reservation) -> String {
    let mut text = String::new();
    let (budget, period_ns) = (reservation.budget_events, reservation.period_ns);
    let bounds = match &reservation.bounds {
        None => String::new(),
        Some(bounds) => {
            let (budget, period) = (&bounds.budget_events, &bounds.period_ns);
            let ends = [budget.start(), budget.end(), period.start(), period.end()];
            let ends = list(ends.iter().map(|end| format!("{end}U")));
            format!(", .bounds = {{{ends}}}")
        }
    };
    line(
        &mut text,
        format_args!(
            "        .reservation = {{.budget = {budget}, .period_ns = {period_ns}, .weights = weights_{number}{bounds}}},"
        ),
    );
    if reservation.takes_part() {
        let (lends, borrows) = (reservation.lends, reservation.borrows_events);
        line(
            &mut text,
            format_args!("        .lending = {{.lends = {lends}, .borrows = {borrows}U}},"),
        );
    }
    text
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{what}").expect("a text grows");
}

fn list<T: ToString>(items: impl Iterator<Item = T>) -> String {
    let items: Vec<String> = items.map(|item| item.to_string()).collect();
    items.join(", ")
}

/// A C string literal with exactly these bytes.
fn string(text: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'?' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        // Three digits always: nothing behind them is taken for another.
        _ => format!("\\{byte:03o}"),
    };
    let inside: String = text.bytes().map(escaped).collect();
    format!("\"{inside}\"")
}

/// A text that neither ends a comment nor begins a line of its own.
fn comment(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " .,:-_()`/".contains(c);
    text.chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use ringfence_scenario::vm::ReservationBounds;

    use super::*;

    fn writer() -> TableVm {
        TableVm {
            name: "writer".into(),
            cores: vec![3, 1],
            entry: 0x4000_0000,
            arguments: vec![100_000, 0],
            guest_address: 0x4000_0000,
            address: 0x4400_0000,
            size_bytes: 16 << 20,
            colours: Colours::all(16),
            reservation: Some(Reservation {
                budget_events: 156,
                requested_bytes_per_second: Some(100_000_000),
                period_ns: 100_000,
                weights: vec![1, 2],
                shares: vec![52, 104],
                lends: false,
                borrows_events: 0,
                bounds: None,
            }),
            may_change: Vec::new(),
            devices: Vec::new(),
            input: true,
            statistics: None,
        }
    }

    #[test]
    fn a_table_says_who_never_has_the_input() {
        let deaf = TableVm {
            input: false,
            ..writer()
        };
        let text = table("input", &[writer(), deaf], &[], None, None);
        assert_eq!(
            text.matches("        .no_input = true,\n").count(),
            1,
            "{text}"
        );
        let (first, _) = text.split_once("    },\n    {").unwrap();
        assert!(!first.contains("no_input"), "{text}");
    }

    #[test]
    fn a_table_has_devices_and_their_interrupts() {
        let device = |address, interrupts: &[u16]| Device {
            name: "d".into(),
            address,
            size_bytes: 0x1000,
            interrupts: interrupts.to_vec(),
            compatible: Vec::new(),
            trusted_dma: false,
        };
        let owner = TableVm {
            devices: vec![device(0x901_0000, &[34, 40]), device(0x903_0000, &[39])],
            ..writer()
        };
        let text = table("devices", &[owner], &[], None, None);
        for said in [
            "        .devices = {{.address = 0x9010000, .size = 0x1000}, {.address = 0x9030000, .size = 0x1000}},\n",
            "        .interrupts = {34, 40, 39},\n",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn a_table_is_what_the_hypervisor_reads() {
        let text = table(
            "one, case `reserved`",
            &[writer()],
            &[],
            None,
            Some(&(0x7fe0_0000..0x8000_0000)),
        );
        assert_eq!(
            text,
            "/* one, case `reserved`: made by ringfence. */
#include \"config.h\"

static const uint32_t weights_0[] = {1, 2};

static const struct vm_config vms[] = {
    {
        .name = \"writer\",
        .entry = 0x40000000,
        .arguments = {0x186a0U, 0x0U},
        .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
        .cores = {3, 1},
        .vcpus = 2,
        .reservation = {.budget = 156, .period_ns = 100000, .weights = weights_0},
    },
};

const struct machine_config machine_config = {
    .vm = vms,
    .vms = 1,
    .trace = {.address = 0x7fe00000, .size = 0x200000},
};
"
        );
    }

    #[test]
    fn a_table_says_which_pages_a_vm_has_and_which_statistics_it_reads() {
        let coloured = TableVm {
            colours: Colours::some(&[0, 1, 2, 9], 16),
            statistics: Some((0x7000_0000, vec![0, 2])),
            ..writer()
        };
        let text = table("colours", &[coloured], &[], None, None);
        for said in [
            "        /* Pages of the colours 0, 1, 2, 9 of 16, up to 0x48000000. */\n",
            ".address = 0x44000000, .size = 0x1000000, .colours = 0x207}},\n",
            "        .statistics = {.guest_address = 0x70000000, .of = 0x5},\n",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn a_table_says_who_lends_and_who_may_change_what() {
        let mut lender = writer();
        let reservation = lender.reservation.as_mut().unwrap();
        reservation.lends = true;
        reservation.borrows_events = 16;
        reservation.bounds = Some(ReservationBounds {
            budget_events: 10..=400,
            period_ns: 100_000..=100_000,
        });
        lender.may_change = vec![0, 2];
        let text = table("pool", &[lender], &[], Some(3_000_000), None);
        for said in [
            ".weights = weights_0, .bounds = {10U, 400U, 100000U, 100000U}},\n",
            "        .lending = {.lends = true, .borrows = 16U},\n",
            "        .may_change = 0x5,\n",
            "    .events_per_s = 3000000U,\n",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn a_table_has_channels_as_they_are_placed() {
        let end = |interrupt, reads_only| ChannelEnd {
            vm: 5,
            interrupt,
            guest_address: 0x7000_0000,
            reads_only,
        };
        let channel = TableChannel {
            channel: Channel {
                name: "samples".into(),
                size_bytes: 64 << 10,
                address: None,
                interval_ns: 20_000,
                ends: [end(Some(40), false), end(None, true)],
            },
            vms: [Some(1), None],
            address: 0x4500_0000,
        };
        let text = table("two", &[writer(), writer()], &[channel], None, None);
        assert!(
            text.contains(
                "static const struct channel_config channels[] = {
    { /* samples */
        .end = {{.vm = 1, .interrupt = 40, .guest_address = 0x70000000, .reads_only = false},
                {.vm = CHANNEL_NOBODY, .interrupt = 0, .guest_address = 0x70000000, .reads_only = true}},
        .address = 0x45000000,
        .size = 0x10000,
        .interval_ns = 20000,
    },
};
"
            ),
            "{text}"
        );
        assert!(
            text.contains("    .channel = channels,\n    .channels = 1,\n"),
            "{text}"
        );
    }

    #[test]
    fn a_name_stays_a_name_whatever_is_in_it() {
        assert_eq!(string("a\"b\\c??/é1"), r#""a\"b\\c\?\?/\303\2511""#);
        assert_eq!(comment("x */ \n#include <y>"), "x _/ __include _y_");
    }

    #[test]
    fn a_vm_without_a_reservation_has_none_in_the_table() {
        let free = TableVm {
            reservation: None,
            ..writer()
        };
        let text = table("free", &[free], &[], None, None);
        assert!(
            !text.contains("reservation") && !text.contains("weights"),
            "{text}"
        );
        assert!(!text.contains("trace"), "{text}");
    }
}
