//! The C side of periods: layouts and functions of `shim_periods.c`.

use super::Period;

/// `enum rf_periods_status`, as the C compiler passes it.
pub(super) type Status = u32;
pub(super) const OK: Status = 0;
pub(super) const BAD_LENGTH: Status = 1;

/// `struct rf_periods`; shim_periods.c asserts the same size.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub first: u64,
    pub first_ns: u64,
    pub length_ns: u64,
    pub next_first: u64,
    pub next_first_ns: u64,
    pub next_length_ns: u64,
}

const _: () = assert!(size_of::<Period>() == 24);
const _: () = assert!(size_of::<State>() == 48);

// SAFETY: the functions of shim_periods.c have these types, and are safe to call because
// a reference is a valid, aligned pointer to the C type that its target mirrors, and the
// header, proved free of run-time errors, keeps no pointer.
unsafe extern "C" {
    pub(super) safe fn shim_periods_init(vm: &mut State, length_ns: u64) -> Status;
    pub(super) safe fn shim_periods_at(vm: &mut State, now_ns: u64, period: &mut Period);
    pub(super) safe fn shim_periods_change(
        vm: &mut State,
        now_ns: u64,
        length_ns: u64,
        from: &mut Period,
    ) -> Status;
    pub(super) safe fn shim_periods_bandwidth(budget: u64, length_ns: u64) -> u64;
    pub(super) safe fn shim_periods_together(one: u64, other: u64) -> u64;
}
