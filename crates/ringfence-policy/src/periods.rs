//! Periods: which one a time lies in, also when their length changes, and what bandwidth
//! a budget in each of them is.
//!
//! The rules, what the caller owes them and the known gaps are stated in
//! `policy/include/ringfence/periods.h`, which this module calls.

mod ffi;

/// One period of a VM.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Period {
    /// How many were before it.
    pub number: u64,
    /// When it begins.
    pub begin_ns: u64,
    /// When the next one begins.
    pub end_ns: u64,
}

/// Why a change is refused; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum PeriodsError {
    /// Periods cannot have this length.
    #[error("not a length of periods: expected 1 us to 1 s")]
    BadLength,
    /// Another change waits for the end of the period.
    #[error("another change still waits: expected it to be in force")]
    Pending,
}

/// The periods of one VM.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Periods(ffi::State);

impl Periods {
    /// Periods of one length, in ns from 1 us to 1 s, from time 0 on.
    pub fn new(length_ns: u64) -> Result<Self, PeriodsError> {
        let mut state = ffi::State::default();
        done(ffi::shim_periods_init(&mut state, length_ns)).map(|()| Self(state))
    }

    /// The period that it is at `now_ns`, below 2^63; times never run backwards.
    pub fn at(&mut self, now_ns: u64) -> Period {
        let mut period = Period::default();
        ffi::shim_periods_at(&mut self.0, now_ns, &mut period);
        period
    }

    /// Periods have another length from the end of the one at `now_ns` on. The first of
    /// them.
    pub fn change(&mut self, now_ns: u64, length_ns: u64) -> Result<Period, PeriodsError> {
        let mut from = Period::default();
        done(ffi::shim_periods_change(
            &mut self.0,
            now_ns,
            length_ns,
            &mut from,
        ))
        .map(|()| from)
    }
}

/// Events a second of `budget` events in each period of `length_ns`, rounded up; the most
/// that there is for more than 64 bits, and for a length that periods cannot have.
pub fn bandwidth(budget: u64, length_ns: u64) -> u64 {
    ffi::shim_periods_bandwidth(budget, length_ns)
}

/// Both bandwidths together; the most that there is for more than 64 bits.
pub fn together(one: u64, other: u64) -> u64 {
    ffi::shim_periods_together(one, other)
}

fn done(status: ffi::Status) -> Result<(), PeriodsError> {
    match status {
        ffi::OK => Ok(()),
        ffi::BAD_LENGTH => Err(PeriodsError::BadLength),
        _ => Err(PeriodsError::Pending),
    }
}
