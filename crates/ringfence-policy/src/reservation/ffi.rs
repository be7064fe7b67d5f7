//! The C side of reservations: layouts and functions of `shim_reservation.c`.

use super::Reservation;

/// `enum rf_reservation_status`, as the C compiler passes it.
pub(super) type Status = u32;
pub(super) const OK: Status = 0;
pub(super) const THROTTLE: Status = 1;
pub(super) const BAD_VCPU: Status = 2;
pub(super) const BAD_BUDGET: Status = 3;
pub(super) const BAD_WEIGHTS: Status = 4;
pub(super) const BAD_PERIOD: Status = 5;

/// `struct rf_reservation_vcpu`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Vcpu {
    pub used: u64,
    pub debt: u64,
    pub share: u64,
    pub next_period: u64,
}

/// `struct rf_reservation`; shim_reservation.c asserts the same sizes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub budget_before: u64,
    pub budget_after: u64,
    pub first_period: u64,
    pub change_period: u64,
    pub share_before: [u64; Reservation::MAX_VCPUS],
    pub share_after: [u64; Reservation::MAX_VCPUS],
    pub weight: [u32; Reservation::MAX_VCPUS],
    pub weights: u32,
    pub vcpus: u32,
    pub vcpu: [Vcpu; Reservation::MAX_VCPUS],
}

const _: () = assert!(size_of::<Vcpu>() == 32);
const _: () = assert!(size_of::<State>() == 40 + Reservation::MAX_VCPUS * 52);

// SAFETY: the functions of shim_reservation.c have these types. Those marked safe are
// safe to call because a reference is a valid, aligned pointer to the C type that its
// target mirrors, and the header, proved free of run-time errors, checks vCPU numbers
// itself and keeps no pointer.
unsafe extern "C" {
    /// # Safety
    /// `weights` is null, or points to as many weights as there are `vcpus`.
    pub(super) fn shim_reservation_init(
        vm: &mut State,
        budget: u64,
        weights: *const u32,
        vcpus: u32,
    ) -> Status;
    pub(super) safe fn shim_reservation_change(vm: &mut State, period: u64, budget: u64) -> Status;
    pub(super) safe fn shim_reservation_refill(vm: &mut State, vcpu: u32, period: u64) -> Status;
    pub(super) safe fn shim_reservation_charge(vm: &mut State, vcpu: u32, events: u64) -> Status;
    pub(super) safe fn shim_reservation_remaining(
        vm: &State,
        vcpu: u32,
        events: &mut u64,
    ) -> Status;
    /// # Safety
    /// The VM has a vCPU of that number.
    pub(super) fn shim_reservation_go_on(vm: &mut State, vcpu: u32, events: u64) -> u64;
}
