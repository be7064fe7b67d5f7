//! Runs cases in QEMU into a record.

use std::io::Write;
use std::time::{Duration, Instant};

use ringfence_record::Writer;
use ringfence_scenario::model::{Case, Scenario};

use crate::HypError;
use crate::board::{Board, Gic, QEMU_VIRT, QEMU_VIRT_GICV2};
use crate::emulator::{self, Machine};
use crate::format::Format;
use crate::image::{Builder, Configuration};
use crate::record::{self, Seen};
use crate::trace::{Kind, Reader};

/// How often the trace is read: a full ring takes longer to come round.
const POLL: Duration = Duration::from_millis(2);
/// A case that tells no time and does not end is given up after this.
const LONGEST: Duration = Duration::from_secs(600);

/// Told of a run as it goes on.
pub struct Observer<'a> {
    /// A case, by its number, has come to this time of its machine, in nanoseconds.
    pub progress: &'a dyn Fn(usize, u64),
    /// A case, by its number, has ended, and its machine has printed this.
    pub console: &'a dyn Fn(usize, &str),
}

/// What is wrong on purpose in the table that the hypervisor is built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Each VM's budget is an event more than is reserved.
    OneEventMore,
    /// Each VM with a reservation that cannot be changed may borrow.
    AllBorrow,
    /// Reservations can be changed to anything.
    NoBounds,
}

/// How to run a scenario.
pub struct RunOptions<'a> {
    /// How the hypervisor is broken on purpose, to test what judges it.
    pub fault: Option<Fault>,
    /// Told of the run.
    pub observer: Observer<'a>,
}

/// Checks that every case can be built; what would be, for each.
///
/// # Errors
/// The first case that cannot.
pub fn plan(scenario: &Scenario) -> Result<Vec<Configuration>, HypError> {
    let is_traced = Board::named(&scenario.platform.name).is_ok_and(|board| board.is_run());
    let configuration = |case| Configuration::of(scenario, case, is_traced);
    scenario.cases.iter().map(configuration).collect()
}

/// Checks that the scenario's board is one that can be run here.
///
/// # Errors
/// It is not, with the nearest one that can.
pub fn check_board(scenario: &Scenario) -> Result<(), HypError> {
    let board = Board::named(&scenario.platform.name)?;
    if board.is_run() {
        return Ok(());
    }
    let nearest = match board.gic {
        Gic::V2 => QEMU_VIRT_GICV2,
        Gic::V3 => QEMU_VIRT,
    };
    Err(HypError::Unsupported(format!(
        "the board `{board}` cannot be run here: QEMU does not have its counters; the nearest that works \
         is the platform file scenarios/hyp/{nearest}.toml, and `ringfence hyp image` makes the image \
         that {board} boots",
        board = board.name
    )))
}

/// The command that a configuration is run by; none if its board is none that can be run.
pub fn command_line(configuration: &Configuration) -> Option<String> {
    let board = &configuration.board;
    board.is_run().then(|| emulator::command_line(board))
}

/// Builds and runs every case, one after the other, and appends its section to the record.
///
/// # Errors
/// The first case that cannot be built or run, after the sections before it.
pub fn run<W: Write>(
    scenario: &Scenario,
    options: &RunOptions<'_>,
    writer: &mut Writer<W>,
) -> Result<(), HypError> {
    check_board(scenario)?;
    let mut configurations = plan(scenario)?;
    for configuration in &mut configurations {
        match options.fault {
            None => {}
            Some(Fault::OneEventMore) => configuration.give_one_event_more(),
            Some(Fault::AllBorrow) => configuration.let_all_borrow(),
            Some(Fault::NoBounds) => configuration.widen_bounds(),
        }
    }
    let observer = &options.observer;
    let builder = Builder::new()?;
    for (number, (case, configuration)) in scenario.cases.iter().zip(&configurations).enumerate() {
        let image = builder.build(configuration, Format::Elf)?;
        let mut machine = Machine::start(&image, &configuration.board)?;
        let progress = |time_ns| (observer.progress)(number, time_ns);
        let watched = watch(scenario, case, &mut machine, &progress);
        let console = machine.console();
        (observer.console)(number, &console);
        let (reader, is_off) = watched
            .and_then(|seen| check_accepted(&console).map(|()| seen))
            .map_err(|error| of_case(error, case))?;
        let seen = Seen {
            cores: &reader.cores,
            is_off,
        };
        writer.append_section(&record::section(scenario, case, seen)?)?;
    }
    Ok(())
}

/// Reads the trace until the case is over; whether the machine turned itself off.
fn watch(
    scenario: &Scenario,
    case: &Case,
    machine: &mut Machine,
    progress: &dyn Fn(u64),
) -> Result<(Reader, bool), HypError> {
    let mut reader = Reader::open(&machine.trace(), scenario.platform.cores)?;
    let begun = Instant::now();
    loop {
        // Before the trace is read: what it had written then is all read.
        let is_off = machine.is_off()?;
        reader.read()?;
        let reached_ns = (0..scenario.platform.cores).filter_map(|core| reader.reached_ns(core));
        progress(reached_ns.max().unwrap_or(0).min(scenario.duration_ns));
        if is_off || has_reached_end(scenario, case, &reader) {
            return Ok((reader, is_off));
        }
        if begun.elapsed() > LONGEST {
            return Err(HypError::Failed(format!(
                "it has not come to its end in {} s: a machine tells the time only while a VM with \
                 a reservation runs, and ends when all guests have turned themselves off",
                LONGEST.as_secs()
            )));
        }
        std::thread::sleep(POLL);
    }
}

/// Whether all cores that tell the time are at the end of the case, and there are some.
fn has_reached_end(scenario: &Scenario, case: &Case, reader: &Reader) -> bool {
    let vms = case.vms.iter().map(|&vm| &scenario.vms[vm]);
    let reserved = vms.filter(|vm| case.reservations && vm.reservation.is_some());
    let mut telling = reserved
        .flat_map(|vm| &vm.cores)
        .filter_map(|&core| reader.cores[usize::from(core)].entries.last())
        .filter(|last| last.kind != Kind::Off)
        .peekable();
    telling.peek().is_some() && telling.all(|last| last.time_ns >= scenario.duration_ns)
}

/// What the hypervisor's own check of its table (`config_error`) says before any guest starts.
fn check_accepted(console: &str) -> Result<(), HypError> {
    let refused = console
        .lines()
        .find_map(|line| line.split_once("the configuration cannot be used: "));
    match refused {
        Some((_, why)) => Err(HypError::Failed(format!(
            "the hypervisor refuses the configuration: {why}; change that in the scenario"
        ))),
        None => Ok(()),
    }
}

fn of_case(error: HypError, case: &Case) -> HypError {
    match error {
        HypError::Failed(text) => HypError::Failed(format!("case `{}`: {text}", case.name)),
        other => other,
    }
}
