//! Lending: what vCPUs will probably not use of a period is used by others, in that period.
//!
//! The rules, what follows from them, what the caller owes them and the known gaps are
//! stated in `policy/include/ringfence/lending.h`, which this module calls.

mod ffi;

/// What lenders gave for a period and nobody has borrowed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pool(ffi::Pool);

/// A vCPU that lends, borrows or both.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Vcpu(ffi::Vcpu);

impl Pool {
    /// An empty one.
    pub fn new() -> Self {
        let mut pool = ffi::Pool::default();
        ffi::shim_lending_init(&mut pool);
        Self(pool)
    }

    /// Events that can be borrowed for `period`.
    pub fn events(&self, period: u64) -> u64 {
        if self.0.period == period {
            self.0.events
        } else {
            0
        }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::new()
    }
}

impl Vcpu {
    /// In no period yet.
    pub fn new() -> Self {
        let mut vcpu = ffi::Vcpu::default();
        ffi::shim_lending_init_vcpu(&mut vcpu);
        Self(vcpu)
    }

    /// It has begun `period` with `left` events of its share; a lender gives some of them.
    /// How many: to be charged to its share.
    pub fn begin(&mut self, pool: &mut Pool, period: u64, left: u64, lends: bool) -> u64 {
        ffi::shim_lending_begin(&mut pool.0, &mut self.0, period, left, lends)
    }

    /// It has used events, with `left` of its share. How many of them are to be charged to
    /// the share: those that it has not borrowed.
    pub fn used(&mut self, events: u64, left: u64) -> u64 {
        ffi::shim_lending_use(&mut self.0, events, left)
    }

    /// It borrows at most so many events for the period that it is in. How many it got.
    pub fn borrow(&mut self, pool: &mut Pool, most: u64) -> u64 {
        ffi::shim_lending_borrow(&mut pool.0, &mut self.0, most)
    }

    /// Events that it has borrowed and not used.
    pub fn borrowed(&self) -> u64 {
        self.0.borrowed
    }
}

impl Default for Vcpu {
    fn default() -> Self {
        Self::new()
    }
}
