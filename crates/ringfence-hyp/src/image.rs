//! Builds a bootable image: the hypervisor, configured, and all that its VMs boot.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ringfence_scenario::model::{Case, Scenario};
use ringfence_scenario::vm::{Device, Reservation, Vm};
use tempfile::TempDir;

use crate::board::Board;
use crate::format::{self, Format};
use crate::guest::{self, Contents, Loaded};
use crate::layout;
use crate::record::EVENT_BYTES;
use crate::table::{TableChannel, TableVm, table};
use crate::{HypError, sources};

const COMPILER: &str = "aarch64-linux-gnu-gcc";

/// A case, ready to be built for a board.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// What it is for.
    pub board: Board,
    /// Its VMs, placed.
    pub vms: Vec<TableVm>,
    /// What they have in common, placed.
    pub channels: Vec<TableChannel>,
    /// What all reservations together never exceed, in events a second.
    pub events_per_second: Option<u64>,
    /// Where it traces to, if it does.
    pub trace: Option<Range<u64>>,
    title: String,
    guests: Vec<Loaded>,
}

impl Configuration {
    /// The VMs of `case` on the platform of `scenario`; what they boot is read.
    ///
    /// # Errors
    /// The board, a VM or an image cannot be used.
    pub fn of(scenario: &Scenario, case: &Case, traced: bool) -> Result<Self, HypError> {
        if case.vms.is_empty() {
            return Err(HypError::Unsupported(format!(
                "case `{}`: the hypervisor runs VMs, but the scenario has none; write its work as \
                 [[vm]], or run it on another target",
                case.name
            )));
        }
        let board = Board::named(&scenario.platform.name)?;
        if scenario.platform.cores != board.cores {
            return Err(HypError::Failed(format!(
                "the platform `{}` of the scenario has {} cores, but the board has {}",
                board.name, scenario.platform.cores, board.cores
            )));
        }
        let vms: Vec<&Vm> = case.vms.iter().map(|&vm| &scenario.vms[vm]).collect();
        for device in vms.iter().flat_map(|vm| &vm.devices) {
            check_device(device, &board)?;
        }
        let guests: Vec<Loaded> = vms
            .iter()
            .map(|vm| guest::load(vm, board.gic))
            .collect::<Result<_, _>>()?;
        check_colours(scenario, case, &board)?;
        let placed = layout::place(&vms, case.cache_allocation, &scenario.channels, &board)?;
        let place = |((vm, guest), address): ((&&Vm, &Loaded), u64)| {
            let ram = vm.memory.expect("a VM with RAM: it is placed");
            TableVm {
                name: vm.name.clone(),
                cores: vm.cores.clone(),
                entry: guest.entry,
                arguments: guest.arguments.clone(),
                guest_address: ram.guest_address,
                address,
                size_bytes: ram.size_bytes,
                colours: layout::colours_of(vm, case.cache_allocation, &board),
                reservation: vm.reservation.clone().filter(|_| case.reservations),
                may_change: match case.reservations {
                    true => numbers_in(case, &vm.may_change),
                    false => Vec::new(),
                },
                devices: vm.devices.clone(),
                input: vm.input,
                statistics: vm
                    .statistics
                    .as_ref()
                    .map(|it| (it.guest_address, numbers_in(case, &it.of)))
                    .filter(|(_, of)| !of.is_empty()),
            }
        };
        Ok(Self {
            vms: vms.iter().zip(&guests).zip(placed.vms).map(place).collect(),
            channels: channels_in(scenario, case, &placed.channels),
            events_per_second: scenario
                .reservations_bytes_per_second
                .filter(|_| case.reservations)
                .map(|total| total / EVENT_BYTES),
            trace: traced.then(|| layout::trace(&board)),
            title: format!("{}, case `{}`", scenario.name, case.name),
            board,
            guests,
        })
    }

    /// Gives each VM that is held to a reservation an event more than it has reserved.
    pub(crate) fn give_one_event_more(&mut self) {
        for vm in &mut self.vms {
            if let Some(reservation) = &mut vm.reservation {
                reservation.budget_events += 1;
            }
        }
    }

    /// Lets all VMs that are held to reservations borrow, unless these can be changed.
    pub(crate) fn let_all_borrow(&mut self) {
        let reservations = self.vms.iter_mut().filter_map(|vm| vm.reservation.as_mut());
        for reservation in reservations.filter(|it| it.bounds.is_none()) {
            reservation.borrows_events = reservation.borrows_events.max(1);
        }
    }

    /// Widens all bounds of changes, and the total.
    pub(crate) fn widen_bounds(&mut self) {
        let reservations = self.vms.iter_mut().filter_map(|vm| vm.reservation.as_mut());
        for reservation in reservations {
            let takes_part = reservation.takes_part();
            if let Some(bounds) = &mut reservation.bounds {
                bounds.budget_events = 1..=u64::MAX >> 1;
                if !takes_part {
                    bounds.period_ns = Reservation::PERIOD_NS;
                }
            }
        }
        self.events_per_second = self.events_per_second.map(|_| u64::MAX >> 1);
    }

    /// The table that the hypervisor is built with.
    pub fn table(&self) -> String {
        table(
            &self.title,
            &self.vms,
            &self.channels,
            self.events_per_second,
            self.trace.as_ref(),
        )
    }
}

/// Where these VMs of the scenario are in a case; some may not be in it.
fn numbers_in(case: &Case, vms: &[usize]) -> Vec<usize> {
    let number = |vm: &usize| case.vms.iter().position(|of_case| of_case == vm);
    vms.iter().filter_map(number).collect()
}

/// What the platform file says of colours is what the board has.
fn check_colours(scenario: &Scenario, case: &Case, board: &Board) -> Result<(), HypError> {
    let stated = scenario.platform.page_colours();
    if !case.cache_allocation || stated == Some(board.colours) {
        return Ok(());
    }
    Err(HypError::Failed(format!(
        "the platform `{}` of the scenario has {} page colours, but the board has {} \
         (hyp/platform/{}/platform.c)",
        board.name,
        stated.unwrap_or(0),
        board.colours,
        board.name
    )))
}

/// All channels, as their numbers are their places in the scenario; with the VMs of a case.
fn channels_in(scenario: &Scenario, case: &Case, addresses: &[u64]) -> Vec<TableChannel> {
    let number = |vm: usize| case.vms.iter().position(|&of_case| of_case == vm);
    let placed = scenario.channels.iter().zip(addresses);
    let placed = placed.map(|(channel, &address)| TableChannel {
        channel: channel.clone(),
        vms: channel.ends.each_ref().map(|end| number(end.vm)),
        address,
    });
    placed.collect()
}

/// What the scenario says of a device may be, as far as it takes the board to know; the rest is
/// the hypervisor's to check when it starts.
fn check_device(device: &Device, board: &Board) -> Result<(), HypError> {
    let name = &device.name;
    let end = device.address.saturating_add(device.size_bytes);
    if let Some(ram) = board
        .ram
        .iter()
        .find(|ram| device.address < ram.end && ram.start < end)
    {
        return Err(HypError::Failed(format!(
            "the device `{name}` is at {:#x} to {end:#x}, but {} has RAM from {:#x} to {:#x}; see the \
             board's manual for where its registers are",
            device.address, board.name, ram.start, ram.end
        )));
    }
    let of_counter = |number: &&u16| board.counter_interrupts.contains(number);
    let of_uart = |number: &&u16| board.uart_interrupt == **number;
    let counter = device.interrupts.iter().find(of_counter);
    let uart = device.interrupts.iter().find(of_uart);
    let whose = [(counter, "a core's counter"), (uart, "the serial line")];
    match whose
        .iter()
        .find_map(|&(found, whose)| Some((found?, whose)))
    {
        Some((number, whose)) => Err(HypError::Failed(format!(
            "interrupt {number} of the device `{name}` is that of {whose} on {}; the hypervisor needs \
             it: take it out of `interrupts`",
            board.name
        ))),
        None => Ok(()),
    }
}

/// Name of the table of constants in the builder's folder.
const SOURCE: &str = "configuration.c";

/// The sources of the hypervisor and what is built of them, in a folder of their own.
#[derive(Debug)]
pub struct Builder {
    folder: TempDir,
}

impl Builder {
    /// Unpacks the sources.
    ///
    /// # Errors
    /// There is no compiler or no room.
    pub fn new() -> Result<Self, HypError> {
        for tool in [COMPILER, "make"] {
            let found = Command::new(tool)
                .arg("--version")
                .stdout(Stdio::null())
                .status();
            if found.is_err() {
                return Err(HypError::Unsupported(format!(
                    "`{tool}` is needed to build the hypervisor and is not installed; on Debian \
                     and Ubuntu: apt-get install gcc-aarch64-linux-gnu make"
                )));
            }
        }
        let failed = |error| HypError::Failed(format!("a folder to build in: {error}"));
        let folder = TempDir::with_prefix("ringfence-hyp-").map_err(failed)?;
        sources::unpack(folder.path())?;
        Ok(Self { folder })
    }

    /// The image of a configuration. The same configuration and compiler give the same bytes.
    ///
    /// # Errors
    /// It does not build, a file of a guest cannot be read, or the format cannot hold it.
    pub fn build(
        &self,
        configuration: &Configuration,
        format: Format,
    ) -> Result<Vec<u8>, HypError> {
        let source = self.folder.path().join(SOURCE);
        let text = configuration.table();
        fs::write(&source, text).map_err(|error| HypError::file(&source, error))?;
        self.make(configuration)?;
        let hypervisor = self.built("configuration/ringfence.bin");
        let mut segments = vec![(configuration.board.link, read(&hypervisor)?)];
        for (vm, guest) in configuration.vms.iter().zip(&configuration.guests) {
            for piece in &guest.pieces {
                let bytes = match &piece.contents {
                    Contents::BuiltIn(name) => read(&self.built(&format!("guests/{name}.bin")))?,
                    Contents::File(path) => read(path)?,
                    Contents::Bytes(bytes) => bytes.clone(),
                };
                if piece.offset + bytes.len() as u64 > vm.size_bytes {
                    return Err(HypError::Failed(format!(
                        "the guest of the VM `{}` does not fit its memory; give it more",
                        vm.name
                    )));
                }
                let end = piece.offset + bytes.len() as u64;
                let mut rest = &bytes[..];
                for (address, length) in vm.colours.pieces(vm.address, piece.offset..end) {
                    let (here, behind) = rest.split_at(length as usize);
                    segments.push((address, here.to_vec()));
                    rest = behind;
                }
            }
        }
        match format {
            Format::Elf => format::elf(configuration.board.link, &segments),
            Format::Raw => format::raw(&configuration.board, &segments),
        }
    }

    fn built(&self, file: &str) -> PathBuf {
        self.folder.path().join("build").join(file)
    }

    fn make(&self, configuration: &Configuration) -> Result<(), HypError> {
        let folder = self.folder.path();
        let jobs = std::thread::available_parallelism().map_or(1, Into::into);
        let mut make = Command::new("make");
        make.args(["-s", "-j", &jobs.to_string(), "CONFIG=configuration"]);
        make.arg(format!("PLATFORM={}", configuration.board.name));
        // Seen from there: names for make could have no blank.
        make.current_dir(folder.join("hyp"));
        make.args([&format!("CONFIG_SOURCE=../{SOURCE}"), "BUILD=../build"]);
        if configuration.trace.is_some() {
            make.arg("TRACE=1");
        }
        // Of a make that we were started by.
        make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        let made = make
            .output()
            .map_err(|error| HypError::Failed(format!("make: {error}")))?;
        match made.status.success() {
            true => Ok(()),
            false => Err(HypError::Failed(format!(
                "the hypervisor does not build: {}",
                String::from_utf8_lossy(&made.stderr).trim()
            ))),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, HypError> {
    fs::read(path).map_err(|error| HypError::file(path, error))
}
