//! How fast the exact engine is on this machine.
//!
//! Speed is given as a ratio to a plain walk over an array, measured in turns
//! with the engine, so that figures of different machines, or of a busy one,
//! can be compared.

mod alone;
mod dram;
mod dram_load;
mod latency;
mod llc;
mod llc_load;
mod speed;
mod walk;
mod working_sets;

use std::time::Duration;

use ringfence_scenario::model::{Access, Bandwidth, Cpu, LinkedLists, Program};
use ringfence_scenario::platform::Platform;
use serde::Serialize;

pub use alone::{PLATFORM_BENCH_VERSION, PlatformBench, platform};
pub use dram::{DRAM_BENCH_VERSION, DramBench, bandwidth_cap, dram};
pub use dram_load::{ClosedLoop, DramLoad, LINE_BYTES, LoadPattern};
pub use latency::RequestorLatency;
pub use llc::{Bottleneck, LLC_BENCH_VERSION, LlcBench, llc};
pub use llc_load::{LlcCounts, LlcLoad, LlcPattern, MAX_MEMORY_CYCLES};

use crate::machine::error::MachineError;
use crate::machine::{ExactMachine, Machine, Picoseconds, StreamId};
use walk::{Walk, repeat};
use working_sets::WorkingSets;

/// Version of [`EngineBench`] as JSON.
pub const VERSION: u32 = 1;
/// Turns of walk and engine in one case.
const TURNS: u32 = 5;
const LOOKAHEAD_PS: Picoseconds = 1_000_000;
/// An eighth of the LLC: four cores read as much and fill half of it.
const LLC_PARTS: u64 = 8;

/// Speed of the engine on one platform.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineBench {
    /// [`VERSION`].
    pub version: u32,
    /// Name of the platform.
    pub platform: String,
    /// One per load.
    pub cases: Vec<EngineCase>,
}

/// Speed of one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineCase {
    /// What ran.
    pub name: &'static str,
    /// Simulated accesses, or DRAM requests.
    pub accesses: u64,
    /// Wall time that they took, in seconds.
    pub wall_s: f64,
    /// Simulated accesses per wall second.
    pub accesses_per_s: f64,
    /// Lines per wall second of the array walk, in turns with the engine.
    pub walk_lines_per_s: f64,
    /// `accesses_per_s / walk_lines_per_s`.
    pub ratio_to_walk: f64,
}

/// Measures the engine on `platform`, about `time_per_case` for each of ten loads.
///
/// # Errors
/// When the exact engine cannot run the platform, or its DRAM is less than four times
/// the LLC for each core.
pub fn engine(platform: &Platform, time_per_case: Duration) -> Result<EngineBench, MachineError> {
    let memory = platform
        .memory
        .as_ref()
        .ok_or_else(|| MachineError::NoMemory {
            platform: platform.name.clone(),
        })?;
    let sets = WorkingSets::of(memory, platform.cores, LLC_PARTS)?;
    let mut walk = Walk::new();
    let mut cases = Vec::new();
    for (name, programs) in loads(&sets, platform.cores) {
        let mut engine = Running::new(platform, &programs)?;
        cases.push(measure(name, time_per_case, &mut walk, || {
            engine.run(20_000_000)
        }));
    }
    for (name, pattern) in [
        ("DRAM alone, random", LoadPattern::Random),
        ("DRAM alone, sequential", LoadPattern::Sequential),
    ] {
        let mut load = ClosedLoop::new(&memory.dram, &DramLoad::reference(pattern, 8))?;
        cases.push(measure(name, time_per_case, &mut walk, || {
            load.run(10_000);
            10_000
        }));
    }
    Ok(EngineBench {
        version: VERSION,
        platform: platform.name.clone(),
        cases,
    })
}

/// The loads by name: the program of each busy core.
fn loads(sets: &WorkingSets, cores: u16) -> Vec<(&'static str, Vec<Program>)> {
    let &WorkingSets {
        in_l1,
        in_llc,
        in_dram,
    } = sets;
    let walk = |access, working_set_bytes| {
        Program::Bandwidth(Bandwidth {
            access,
            working_set_bytes,
            passes: 1,
        })
    };
    let lists = |access, working_set_bytes| {
        Program::LinkedLists(LinkedLists {
            access,
            working_set_bytes,
            lists: 6,
            bank: None,
            passes: 1,
        })
    };
    let l1 = Program::Cpu(Cpu {
        working_set_bytes: in_l1,
        cycles_per_access: 2,
        accesses: 1,
    });
    let all = |program: Program| vec![program; usize::from(cores.min(4))];
    let mut mixed = vec![
        l1.clone(),
        walk(Access::Read, in_llc),
        walk(Access::Write, in_dram),
        lists(Access::Read, in_dram),
    ];
    mixed.truncate(usize::from(cores));
    vec![
        ("one core, L1", vec![l1]),
        ("one core, LLC reads", vec![walk(Access::Read, in_llc)]),
        ("one core, DRAM reads", vec![walk(Access::Read, in_dram)]),
        ("one core, DRAM writes", vec![walk(Access::Write, in_dram)]),
        ("four cores, L1 + LLC + DRAM", mixed),
        ("four cores, LLC reads", all(walk(Access::Read, in_llc))),
        ("four cores, DRAM writes", all(walk(Access::Write, in_dram))),
        (
            "four cores, DRAM random reads",
            all(lists(Access::Read, in_dram)),
        ),
    ]
}

/// A machine with endless programs on its first cores.
struct Running {
    machine: ExactMachine,
    streams: Vec<StreamId>,
}

impl Running {
    fn new(platform: &Platform, programs: &[Program]) -> Result<Self, MachineError> {
        let mut machine = ExactMachine::new(platform, 1, LOOKAHEAD_PS)?;
        let mut streams = Vec::new();
        for (core, program) in programs.iter().enumerate() {
            let stream = machine.add_task(&format!("core {core}"), program, 1, true, None)?[0];
            machine.start(core as u16, stream, 0);
            streams.push(stream);
        }
        Ok(Self { machine, streams })
    }

    /// Simulates `time` more; the accesses issued.
    fn run(&mut self, time: Picoseconds) -> u64 {
        let before = self.accesses();
        self.machine.run_until(self.machine.now() + time);
        self.accesses() - before
    }

    fn accesses(&self) -> u64 {
        self.streams
            .iter()
            .map(|&stream| self.machine.accesses(stream))
            .sum()
    }
}

/// Runs the walk and `engine`, which returns its accesses, in turns.
fn measure(
    name: &'static str,
    time: Duration,
    walk: &mut Walk,
    mut engine: impl FnMut() -> u64,
) -> EngineCase {
    let slice = time / (2 * TURNS);
    let (mut accesses, mut engine_s) = (0, 0.0);
    let (mut lines, mut walk_s) = (0, 0.0);
    engine();
    for _ in 0..TURNS {
        lines += repeat(slice, &mut walk_s, || walk.run());
        accesses += repeat(slice, &mut engine_s, &mut engine);
    }
    let accesses_per_s = accesses as f64 / engine_s;
    let walk_lines_per_s = lines as f64 / walk_s;
    EngineCase {
        name,
        accesses,
        wall_s: engine_s,
        accesses_per_s,
        walk_lines_per_s,
        ratio_to_walk: accesses_per_s / walk_lines_per_s,
    }
}
