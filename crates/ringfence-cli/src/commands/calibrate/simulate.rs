//! The programs of a calibration on a modelled platform.

use ringfence_calibrate::pairs;
use ringfence_scenario::model::{self, Program};
use ringfence_scenario::platform::Platform;
use ringfence_sim::machine::error::MachineError;
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, StreamId};
use ringfence_workloads::aggressor::{Access, Kind, Shape};

/// No interrupt comes in between.
const LOOKAHEAD_PS: Picoseconds = 1_000_000;
/// Simulated time between two looks at the counts.
const STEP_PS: Picoseconds = 100_000_000;
/// Simulated time after which caches count as warm, however few accesses were made.
const WARM_MAX_PS: Picoseconds = 300_000_000_000;
/// Accesses of the victim that are timed, unless they take longer than the time below.
const TIMED_ACCESSES: u64 = 200_000;
const TIMED_MAX_PS: Picoseconds = 10_000_000_000;
const SEED: u64 = 1;

/// Nanoseconds of a load that waits for the one before it, in an array of `bytes`.
pub fn chase_ns(platform: &Platform, bytes: u64) -> Result<f64, MachineError> {
    let chase = Shape {
        kind: Kind::LinkedLists {
            lists: 1,
            bank: None,
        },
        access: Access::Read,
        size_bytes: bytes,
        line_bytes: line_bytes(platform),
    };
    access_ns(platform, &chase, None)
}

/// Nanoseconds of an access of the victim of `pair`.
pub fn pair_ns(platform: &Platform, pair: &pairs::Pair) -> Result<f64, MachineError> {
    let aggressor = pair.aggressor.as_ref().map(|program| &program.shape);
    access_ns(platform, &pair.victim.shape, aggressor)
}

fn access_ns(
    platform: &Platform,
    victim: &Shape,
    aggressor: Option<&Shape>,
) -> Result<f64, MachineError> {
    let mut machine = ExactMachine::new(platform, SEED, LOOKAHEAD_PS)?;
    let llc_bytes = platform
        .memory
        .as_ref()
        .map_or(0, |memory| memory.llc.size_bytes.into());
    let mut start = |core: u16, name: &str, shape: &Shape| -> Result<StreamId, MachineError> {
        let stream = machine.add_task(name, &program(shape), 1, true, None)?[0];
        machine.start(core, stream, 0);
        Ok(stream)
    };
    let victim_stream = start(0, "victim", victim)?;
    let aggressor_stream = aggressor
        .map(|shape| start(1, "aggressor", shape))
        .transpose()?;
    // Everything that is in a cache later has been fetched once.
    let to_warm = |shape: &Shape| shape.size_bytes.min(llc_bytes) / shape.line_bytes;
    let mut warm = vec![(victim_stream, to_warm(victim))];
    warm.extend(aggressor_stream.zip(aggressor.map(|shape| llc_bytes / shape.line_bytes)));
    run_while(&mut machine, WARM_MAX_PS, |machine| {
        warm.iter()
            .any(|&(stream, accesses)| machine.accesses(stream) < accesses)
    });
    let (before, since) = (machine.accesses(victim_stream), machine.now());
    run_while(&mut machine, TIMED_MAX_PS, |machine| {
        machine.accesses(victim_stream) - before < TIMED_ACCESSES
    });
    let made = machine.accesses(victim_stream) - before;
    Ok((machine.now() - since) as f64 / 1000.0 / made as f64)
}

fn run_while(
    machine: &mut ExactMachine,
    at_most: Picoseconds,
    goes_on: impl Fn(&ExactMachine) -> bool,
) {
    let end = machine.now().saturating_add(at_most);
    while goes_on(machine) && machine.now() < end {
        let horizon = machine.now() + STEP_PS;
        machine.run_until(horizon);
    }
}

/// The program of the model that does what the native one does.
fn program(shape: &Shape) -> Program {
    let access = match shape.access {
        Access::Read => model::Access::Read,
        Access::Write => model::Access::Write,
    };
    match &shape.kind {
        Kind::Bandwidth => Program::Bandwidth(model::Bandwidth {
            access,
            working_set_bytes: shape.size_bytes,
            passes: 1,
        }),
        Kind::LinkedLists { lists, .. } => Program::LinkedLists(model::LinkedLists {
            access,
            working_set_bytes: shape.size_bytes,
            lists: *lists as u8,
            bank: None,
            passes: 1,
        }),
    }
}

fn line_bytes(platform: &Platform) -> u64 {
    platform
        .memory
        .as_ref()
        .map_or(64, |memory| memory.line_bytes.into())
}
