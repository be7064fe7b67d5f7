//! Reservation: how many memory events one VM may cause in a period, split over its vCPUs.
//!
//! The rules, what the caller owes them and the known gaps are stated in
//! `policy/include/ringfence/reservation.h`, which this module calls.

mod ffi;

/// Who gets which part of a VM's budget.
#[derive(Debug, Clone, Copy)]
pub enum Split<'a> {
    /// So many vCPUs, with equal parts.
    Balanced(u32),
    /// One weight for each vCPU: it gets the part that its weight has of all of them.
    Weighted(&'a [u32]),
}

/// What a vCPU does after a charge or a refill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It has some of its share left.
    Run,
    /// It has nothing left: its core stops until it begins another period.
    Throttle,
}

/// Why a reservation cannot be made or changed, or a call is refused; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ReservationError {
    /// The VM has no such vCPU, or cannot have so many.
    #[error("not a vCPU of this VM: expected a VM of 1 to 8 vCPUs, and one of them")]
    BadVcpu,
    /// The budget reads as "unlimited".
    #[error("not a budget: expected at most 2^64 - 2 events")]
    BadBudget,
    /// The weights do not say who gets which part.
    #[error("not weights: expected a sum of 1 to 2^32 - 1")]
    BadWeights,
    /// The period has begun, or was missed.
    #[error("a period that has begun or was missed: expected a later one, below 2^64 - 1")]
    BadPeriod,
    /// Another change waits for an earlier period.
    #[error("a change for an earlier period still waits: expected that period or one before it")]
    Pending,
}

/// The budget of one VM, and what its vCPUs have used of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reservation(ffi::State);

impl Reservation {
    /// vCPUs that a VM can have.
    pub const MAX_VCPUS: usize = 8;

    /// A VM with `budget` events in each period, from period 0 on. No vCPU is in a
    /// period yet: all are throttled.
    pub fn new(budget: u64, split: Split) -> Result<Self, ReservationError> {
        let (weights, vcpus) = match split {
            Split::Balanced(vcpus) => (std::ptr::null(), vcpus),
            Split::Weighted(weights) => {
                let vcpus = u32::try_from(weights.len()).map_err(|_| ReservationError::BadVcpu)?;
                (weights.as_ptr(), vcpus)
            }
        };
        let mut state = ffi::State::default();
        // SAFETY: `weights` is null or a slice of `vcpus` weights.
        let status = unsafe { ffi::shim_reservation_init(&mut state, budget, weights, vcpus) };
        verdict(status).map(|_| Self(state))
    }

    /// From `period` on, which no vCPU has begun, the VM has `budget` events in each period.
    pub fn change(&mut self, period: u64, budget: u64) -> Result<(), ReservationError> {
        verdict(ffi::shim_reservation_change(&mut self.0, period, budget)).map(drop)
    }

    /// `vcpu` begins `period`, with its share of the VM's budget in it, less its debt.
    pub fn refill(&mut self, vcpu: u32, period: u64) -> Result<Verdict, ReservationError> {
        verdict(ffi::shim_reservation_refill(&mut self.0, vcpu, period))
    }

    /// Counts the events that the core of `vcpu` has caused since the last call.
    pub fn charge(&mut self, vcpu: u32, events: u64) -> Result<Verdict, ReservationError> {
        verdict(ffi::shim_reservation_charge(&mut self.0, vcpu, events))
    }

    /// Events that `vcpu` may still cause in its period, for arming its core's counter.
    pub fn remaining(&self, vcpu: u32) -> Result<u64, ReservationError> {
        let mut events = 0;
        verdict(ffi::shim_reservation_remaining(&self.0, vcpu, &mut events))?;
        Ok(events)
    }

    /// Has `vcpu` charged, refilled for the period behind the one that it is in, and asked
    /// what remains, all at once; for periods with the same share, and below 2^64 - 1. `None`,
    /// and nothing has changed, if it has used all that it had left: that takes the three calls.
    pub fn go_on(&mut self, vcpu: u32, events: u64) -> Result<Option<u64>, ReservationError> {
        self.vcpu(vcpu)?;
        // SAFETY: there is such a vCPU.
        let left = unsafe { ffi::shim_reservation_go_on(&mut self.0, vcpu, events) };
        Ok((left > 0).then_some(left))
    }

    /// The share of `vcpu` in the period that it is in, in events; 0 before its first.
    pub fn share(&self, vcpu: u32) -> Result<u64, ReservationError> {
        self.vcpu(vcpu).map(|vcpu| vcpu.share)
    }

    /// Events that `vcpu` used beyond its shares and has not paid back yet.
    pub fn debt(&self, vcpu: u32) -> Result<u64, ReservationError> {
        self.vcpu(vcpu).map(|vcpu| vcpu.debt)
    }

    fn vcpu(&self, vcpu: u32) -> Result<&ffi::Vcpu, ReservationError> {
        let vcpus = &self.0.vcpu[..self.0.vcpus as usize];
        vcpus.get(vcpu as usize).ok_or(ReservationError::BadVcpu)
    }
}

fn verdict(status: ffi::Status) -> Result<Verdict, ReservationError> {
    match status {
        ffi::OK => Ok(Verdict::Run),
        ffi::THROTTLE => Ok(Verdict::Throttle),
        ffi::BAD_VCPU => Err(ReservationError::BadVcpu),
        ffi::BAD_BUDGET => Err(ReservationError::BadBudget),
        ffi::BAD_WEIGHTS => Err(ReservationError::BadWeights),
        ffi::BAD_PERIOD => Err(ReservationError::BadPeriod),
        _ => Err(ReservationError::Pending),
    }
}
