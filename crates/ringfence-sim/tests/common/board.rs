//! A four-core board with round numbers, for closed forms.

use ringfence_scenario::model::{Access, Bandwidth, LinkedLists, Program};
use ringfence_scenario::network::{Layer, NeuralNetwork, SerialPhase, Shape};
use ringfence_scenario::platform::{
    AddressMap, CoreModel, Dram, DramController, DramTiming, Inclusion, L1, Llc, MemorySystem,
    OsCosts, PagePlacement, Platform, RefreshMode, Replacement, Scheduler,
};
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, Stop, StreamId};

pub const LINE_BYTES: u64 = 64;
pub const L1_CYCLES: u64 = 3;
pub const LLC_CYCLES: u64 = 20;
pub const LINK_PS: Picoseconds = 10_000;
pub const DRAM_CLOCK_PS: Picoseconds = 1250;

/// 1 GHz cores, L1 32 KiB, LLC 512 KiB, one DDR3-1600 channel of 1 GiB.
pub fn board(cores: u16) -> Platform {
    Platform {
        name: "test-board".into(),
        description: String::new(),
        cores,
        frequency_hz: 1_000_000_000,
        os: OsCosts {
            context_switch_ns: 0,
            interrupt_ns: 0,
            reschedule_latency_ns: 0,
            tick_ns: 1_000_000,
        },
        hypervisor: None,
        stated_page_colours: None,
        memory: Some(MemorySystem {
            line_bytes: LINE_BYTES as u32,
            core: CoreModel {
                issue_cycles: 1,
                cycles_per_instruction_milli: 1000,
                outstanding_misses: 6,
                store_buffer: 4,
                reorder_window: None,
                prefetcher: None,
            },
            l1: L1 {
                size_bytes: 32 << 10,
                ways: 4,
                latency_cycles: L1_CYCLES as u32,
                mshrs: 10,
            },
            llc: Llc {
                size_bytes: 512 << 10,
                ways: 16,
                latency_cycles: LLC_CYCLES as u32,
                bank_functions: vec![1 << 6, 1 << 7],
                bank_service_cycles: 2,
                mshrs: 16,
                mshrs_per_bank: 16,
                write_back_buffer: 16,
                inclusion: Inclusion::NonInclusive,
                replacement: Replacement::Lru,
            },
            dram: dram(),
            page_placement: PagePlacement::Random,
        }),
    }
}

fn dram() -> Dram {
    Dram {
        name: "DDR3-1600".into(),
        channels: 1,
        ranks: 1,
        bank_groups: 1,
        banks_per_group: 8,
        row_bytes: 8192,
        rows: 16384,
        burst_bytes: 64,
        address_map: AddressMap::ColumnGroupBankRow,
        bank_xor: Vec::new(),
        refresh: RefreshMode::AllBanks,
        timing: DramTiming {
            clock_ps: DRAM_CLOCK_PS as u32,
            cl: 11,
            cwl: 8,
            burst: 4,
            rcd: 11,
            rp: 11,
            rp_all: 11,
            ppd: 1,
            ras: 28,
            rrd_s: 5,
            rrd_l: 5,
            faw: 24,
            ccd_s: 4,
            ccd_l: 4,
            rtp: 6,
            wr: 12,
            wtr_s: 6,
            wtr_l: 6,
            turnaround: 2,
            rfc: 208,
            rfc_bank: 0,
            refi: 6240,
            activate_clocks: 1,
            column_clocks: 1,
            precharge_clocks: 1,
        },
        controller: DramController {
            scheduler: Scheduler::FrFcfs,
            read_queue: 32,
            write_queue: 32,
            write_high: 24,
            write_low: 8,
            link_ps: LINK_PS as u32,
        },
    }
}

pub fn bandwidth(access: Access, working_set_bytes: u64, passes: u32) -> Program {
    Program::Bandwidth(Bandwidth {
        access,
        working_set_bytes,
        passes,
    })
}

pub fn lists(access: Access, working_set_bytes: u64, lists: u8, passes: u32) -> Program {
    Program::LinkedLists(LinkedLists {
        access,
        working_set_bytes,
        lists,
        bank: None,
        passes,
    })
}

/// A network whose only work is to fetch lines of a framework, with computation between.
pub fn fetches(accesses: u64, working_set_bytes: u64, cycles_between: u64) -> Program {
    let point = Shape {
        rows: 1,
        columns: 1,
        channels: 1,
    };
    Program::NeuralNetwork(NeuralNetwork {
        layers: vec![Layer {
            input: point,
            kernel: 1,
            stride: 1,
            outputs: 1,
        }],
        bytes_per_value: 4,
        cycles_per_mac_milli: 1,
        serial: SerialPhase {
            cycles: accesses * cycles_between,
            read_bytes: 0,
            accesses,
            working_set_bytes,
        },
    })
}

/// Runs one job of `stream` on the idle `core` from `at` on; when it ends.
pub fn run_job(
    machine: &mut ExactMachine,
    core: u16,
    stream: StreamId,
    at: Picoseconds,
) -> Picoseconds {
    machine.begin_job(stream, 0);
    machine.start(core, stream, at);
    match machine.run_until(Picoseconds::MAX) {
        Stop::Ended { time, .. } => time,
        other => panic!("expected the end of the job, got {other:?}"),
    }
}
