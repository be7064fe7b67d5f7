//! The C side of lending: layouts and functions of `shim_lending.c`.

/// `struct rf_lending_pool`; shim_lending.c asserts the same sizes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Pool {
    pub period: u64,
    pub events: u64,
}

/// `struct rf_lending_vcpu`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Vcpu {
    pub next_period: u64,
    pub used: u64,
    pub borrowed: u64,
}

const _: () = assert!(size_of::<Pool>() == 16);
const _: () = assert!(size_of::<Vcpu>() == 24);

// SAFETY: the functions of shim_lending.c have these types, and are safe to call because
// a reference is a valid, aligned pointer to the C type that its target mirrors, and the
// header, proved free of run-time errors, keeps no pointer.
unsafe extern "C" {
    pub(super) safe fn shim_lending_init(pool: &mut Pool);
    pub(super) safe fn shim_lending_init_vcpu(vcpu: &mut Vcpu);
    pub(super) safe fn shim_lending_begin(
        pool: &mut Pool,
        vcpu: &mut Vcpu,
        period: u64,
        left: u64,
        lends: bool,
    ) -> u64;
    pub(super) safe fn shim_lending_use(vcpu: &mut Vcpu, events: u64, left: u64) -> u64;
    pub(super) safe fn shim_lending_borrow(pool: &mut Pool, vcpu: &mut Vcpu, most: u64) -> u64;
}
