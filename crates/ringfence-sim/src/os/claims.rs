//! What a simulated run promises, derived from the platform's costs.

use ringfence_record::event::{BudgetClaim, Claims, CoreShare, ReservationClaim};
use ringfence_scenario::model::{Case, Scenario, Scheduling};
use ringfence_scenario::platform::{MemorySystem, Platform};
use ringfence_scenario::vm::{Reservation, Vm};
use ringfence_target::budget::line_bytes;
use ringfence_target::share::share_claim;

use super::reservations::reserved;
use crate::time::{PS_PER_NS, cycle_ps};

/// The claims of `case`.
pub(crate) fn claims(scenario: &Scenario, case: &Case) -> Claims {
    Claims {
        one_gang_at_a_time: case.scheduling == Scheduling::Gang,
        hand_over_ns: hand_over_ns(&scenario.platform),
        overlap_ns: None,
        instant_after_ns: None,
        share: share_claim(scenario, case),
        budgets: case.regulation.then(|| BudgetClaim {
            period_ns: scenario.regulation.period_ns,
            quantum_bytes: quantum_bytes(
                &scenario.platform,
                scenario.platform.os.reschedule_latency_ns,
            ),
        }),
        reservations: reserved(scenario, case)
            .into_iter()
            .map(|(vm, reservation)| reservation_claim(scenario, vm, reservation))
            .collect(),
        reservations_bytes_per_second: None,
    }
}

fn reservation_claim(scenario: &Scenario, vm: &Vm, reservation: &Reservation) -> ReservationClaim {
    let platform = &scenario.platform;
    let latency_ns = platform
        .hypervisor
        .map_or(0, |costs| costs.overflow_latency_ns);
    let line_bytes = u64::from(line_bytes(scenario));
    let shares = vm.cores.iter().zip(&reservation.shares);
    ReservationClaim {
        vm: vm.name.clone(),
        period_ns: reservation.period_ns,
        quantum_bytes: quantum_bytes(platform, latency_ns),
        shares: shares
            .map(|(&core, &lines)| CoreShare {
                core,
                bytes: lines.saturating_mul(line_bytes),
            })
            .collect(),
        lends: false,
        borrows: false,
        bounds: None,
    }
}

/// How long a core needs at most to leave its thread after another core wants it to.
///
/// The interrupt travels `reschedule_latency_ns`. It finds the core at worst
/// just inside the kernel with interrupts off, for one interrupt and one
/// switch, and after that at an instruction that waits for the longest access.
fn hand_over_ns(platform: &Platform) -> u64 {
    let os = &platform.os;
    let access_ps = platform
        .memory
        .as_ref()
        .map_or(0, |memory| longest_access_ps(platform, memory));
    os.reschedule_latency_ns
        + os.interrupt_ns
        + os.context_switch_ns
        + access_ps.div_ceil(PS_PER_NS)
}

/// Most bytes that a core moves between reaching its limit and standing still.
///
/// These are the lines under way when the limit is reached (outstanding misses,
/// waiting stores and prefetches), and what the core can add, at the rate of the
/// memory bus or of its own issue, until the counter's interrupt arrives after
/// its latency. Every line may push a dirty line out of the L1 and another one out
/// of the LLC, so twice as many may be written as are read.
fn quantum_bytes(platform: &Platform, interrupt_latency_ns: u64) -> u64 {
    let Some(memory) = &platform.memory else {
        return 0;
    };
    let under_way = lines_under_way(memory);
    let latency_ps = interrupt_latency_ns * PS_PER_NS;
    let issue_ps = cycles_ps(platform, memory.core.issue_cycles);
    let line_ps = bus_line_ps(memory).max(issue_ps).max(1);
    let added = latency_ps.div_ceil(line_ps);
    2 * (under_way + added) * u64::from(memory.line_bytes)
}

/// Lines that one core can have on their way at a time.
fn lines_under_way(memory: &MemorySystem) -> u64 {
    memory.core.outstanding().into()
}

/// Time of one line on the bus of its channel, shared by all channels.
fn bus_line_ps(memory: &MemorySystem) -> u64 {
    let dram = &memory.dram;
    let bursts = u64::from(memory.line_bytes.div_ceil(dram.burst_bytes));
    bursts * u64::from(dram.timing.burst) * u64::from(dram.timing.clock_ps)
        / u64::from(dram.channels)
}

/// Bound on one access, argued and not proven.
///
/// Before it is served, one after the other and on one bank: everything that
/// any core can have under way, each with a dirty line to write first; a full
/// write-back buffer and write queue; and, because FR-FCFS lets younger row hits
/// go before an older request, once every line of the row that is open in front
/// of it. A refresh hits it at both ends.
///
/// That assumes that younger requests go before it in one row only, each line
/// once, because a line that was fetched stays in the LLC meanwhile. Requests
/// that come just in time to hold up every row in front of it could exceed the
/// bound; a run in which they did would fail its claim, and not pass it.
fn longest_access_ps(platform: &Platform, memory: &MemorySystem) -> u64 {
    let dram = &memory.dram;
    let t = &dram.timing;
    let bursts = u64::from(memory.line_bytes.div_ceil(dram.burst_bytes));
    let hit_burst = u64::from(t.burst.max(t.ccd_l));
    let one_request = u64::from(t.rp)
        + u64::from(t.rcd)
        + u64::from(t.cl.max(t.cwl))
        + bursts * hit_burst
        + u64::from(t.wr.max(t.rtp).max(t.wtr_l))
        + u64::from(t.turnaround);
    let requests = 2 * u64::from(platform.cores) * lines_under_way(memory)
        + u64::from(memory.llc.write_back_buffer)
        + u64::from(dram.controller.write_queue)
        + 1;
    let younger_hits = u64::from(dram.row_bytes / dram.burst_bytes);
    let clocks = requests * one_request.max(u64::from(t.ras) + u64::from(t.rp))
        + younger_hits * hit_burst
        + 2 * u64::from(t.rfc);
    clocks * u64::from(t.clock_ps)
        + u64::from(dram.controller.link_ps)
        + cycles_ps(platform, memory.llc.latency_cycles)
}

fn cycles_ps(platform: &Platform, cycles: u32) -> u64 {
    u64::from(cycles) * cycle_ps(platform.frequency_hz)
}
