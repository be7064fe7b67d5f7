//! The C side of the regulator: layouts and functions of `shim_regulator.c`.

use super::Budget;
use crate::CpuSet;

const MAX_CPUS: usize = CpuSet::MAX_CPUS as usize;
const MAX_PARTITIONS: usize = 64;

/// `enum rf_regulator_status`, as the C compiler passes it.
pub(super) type Status = u32;
pub(super) const OK: Status = 0;
pub(super) const THROTTLE: Status = 1;

/// `struct rf_budget_account`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Account {
    pub used: u64,
    pub debt: u64,
}

/// `struct rf_budget_core`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Core {
    pub reads: Account,
    pub writes: Account,
    pub in_domain: u32,
    pub throttled: u32,
}

/// `struct rf_regulator`; shim_regulator.c asserts the same sizes.
#[repr(C)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub threshold: Budget,
    pub tolerance: [Budget; MAX_PARTITIONS],
    pub core: [Core; MAX_CPUS],
    pub gang_runs: [u32; MAX_PARTITIONS],
    pub regulated: u32,
}

const _: () = assert!(size_of::<Core>() == 40);
const _: () = assert!(size_of::<State>() == 24 + MAX_PARTITIONS * 20 + MAX_CPUS * 40);

impl Default for State {
    fn default() -> Self {
        Self {
            threshold: Budget::UNLIMITED,
            tolerance: [Budget::UNLIMITED; MAX_PARTITIONS],
            core: [Core::default(); MAX_CPUS],
            gang_runs: [0; MAX_PARTITIONS],
            regulated: 0,
        }
    }
}

// SAFETY: the functions of shim_regulator.c have these types. They are safe to
// call because a reference is a valid, aligned pointer to the C type that its
// target mirrors, and the headers, proved free of run-time errors, check CPU and
// partition numbers themselves and keep no pointer.
unsafe extern "C" {
    pub(super) safe fn shim_budget_events_per_period(
        bytes_per_second: u64,
        period_ns: u64,
        bytes_per_event: u32,
        events: &mut u64,
    ) -> bool;
    pub(super) safe fn shim_regulator_init(regulator: &mut State, cpus: &CpuSet) -> Status;
    pub(super) safe fn shim_regulator_gang_running(
        regulator: &mut State,
        partition: u32,
        tolerance: &Budget,
        throttled: &mut CpuSet,
    ) -> Status;
    pub(super) safe fn shim_regulator_gang_stopped(
        regulator: &mut State,
        partition: u32,
        unthrottled: &mut CpuSet,
    ) -> Status;
    pub(super) safe fn shim_regulator_charge(
        regulator: &mut State,
        cpu: u32,
        reads: u64,
        writes: u64,
    ) -> Status;
    pub(super) safe fn shim_regulator_refill(regulator: &mut State, unthrottled: &mut CpuSet);
    pub(super) safe fn shim_regulator_is_throttled(regulator: &State, cpu: u32) -> bool;
    pub(super) safe fn shim_regulator_remaining(
        regulator: &State,
        cpu: u32,
        remaining: &mut Budget,
    ) -> Status;
}
