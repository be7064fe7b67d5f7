//! The C side of the gang policy: functions of `shim_gang.c`.
//!
//! The only unsafe code of the gang policy. Calls are safe because every pointer
//! comes from a reference: a [`State`] has the size and alignment that the C
//! compiler states, and [`CpuSet`] is laid out as `struct rf_cpu_set`. gang.h is
//! proved free of run-time errors, checks CPU and priority numbers itself and
//! keeps no pointer.

use super::{Decision, GangError, ShareUse};
use crate::CpuSet;

/// `enum rf_gang_status` and `enum rf_gang_decision`, as the C compiler passes them.
type CEnum = u32;

unsafe extern "C" {
    safe fn shim_gang_partition_words() -> usize;
    fn shim_gang_init(
        partition: *mut u64,
        cpus: &CpuSet,
        limit_ns: u64,
        window_ns: u64,
        now_ns: u64,
    ) -> CEnum;
    fn shim_gang_runnable(partition: *mut u64, priority: u32, reschedule: &mut CpuSet) -> CEnum;
    fn shim_gang_quiescent(partition: *mut u64, priority: u32, reschedule: &mut CpuSet) -> CEnum;
    fn shim_gang_decide(
        partition: *mut u64,
        cpu: u32,
        priority: u32,
        decision: &mut CEnum,
    ) -> CEnum;
    fn shim_gang_running(partition: *mut u64, cpu: u32, priority: u32, now_ns: u64) -> CEnum;
    fn shim_gang_stopping(
        partition: *mut u64,
        cpu: u32,
        now_ns: u64,
        reschedule: &mut CpuSet,
    ) -> CEnum;
    fn shim_gang_timer(partition: *mut u64, now_ns: u64, reschedule: &mut CpuSet);
    fn shim_gang_next_timer_ns(partition: *const u64) -> u64;
    fn shim_gang_active_priority(partition: *const u64) -> u32;
    fn shim_gang_is_share_exhausted(partition: *const u64) -> bool;
    fn shim_gang_share_use(
        partition: *const u64,
        window_start_ns: &mut u64,
        seen_ns: &mut u64,
        used_ns: &mut u64,
    );
}

/// `RF_GANG_RUN`.
const RUN: CEnum = 1;

/// `RF_SHARE_NEVER_NS`.
const NEVER_NS: u64 = u64::MAX;

/// `enum rf_gang_status` as a result.
fn check(status: CEnum) -> Result<(), GangError> {
    Err(match status {
        0 => return Ok(()),
        1 => GangError::NoCpus,
        2 => GangError::BadShare,
        3 => GangError::BadCpu,
        4 => GangError::BadPriority,
        5 => GangError::TooManyThreads,
        6 => GangError::NotRunnable,
        7 => GangError::AlreadyRunning,
        8 => GangError::NotAllowed,
        9 => GangError::NotRunning,
        _ => unreachable!("status {status} is none of gang.h"),
    })
}

/// The words of a `struct rf_gang_partition` after a successful `shim_gang_init`.
/// The C struct has no padding, so equal words mean equal states.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct State(Box<[u64]>);

impl State {
    pub fn new(
        cpus: &CpuSet,
        limit_ns: u64,
        window_ns: u64,
        now_ns: u64,
    ) -> Result<Self, GangError> {
        let mut words = vec![0; shim_gang_partition_words()].into_boxed_slice();
        // SAFETY: `words` is as large and as aligned as the C struct.
        check(unsafe { shim_gang_init(words.as_mut_ptr(), cpus, limit_ns, window_ns, now_ns) })?;
        Ok(Self(words))
    }

    pub fn runnable(&mut self, priority: u8, reschedule: &mut CpuSet) -> Result<(), GangError> {
        // SAFETY: `self.0` holds an initialised partition.
        check(unsafe { shim_gang_runnable(self.0.as_mut_ptr(), priority.into(), reschedule) })
    }

    pub fn quiescent(&mut self, priority: u8, reschedule: &mut CpuSet) -> Result<(), GangError> {
        // SAFETY: `self.0` holds an initialised partition.
        check(unsafe { shim_gang_quiescent(self.0.as_mut_ptr(), priority.into(), reschedule) })
    }

    pub fn decide(&mut self, cpu: u16, priority: u8) -> Result<Decision, GangError> {
        let mut decision = 0;
        let partition = self.0.as_mut_ptr();
        // SAFETY: `self.0` holds an initialised partition.
        check(unsafe { shim_gang_decide(partition, cpu.into(), priority.into(), &mut decision) })?;
        Ok(if decision == RUN {
            Decision::Run
        } else {
            Decision::Block
        })
    }

    pub fn running(&mut self, cpu: u16, priority: u8, now_ns: u64) -> Result<(), GangError> {
        let partition = self.0.as_mut_ptr();
        // SAFETY: `self.0` holds an initialised partition.
        check(unsafe { shim_gang_running(partition, cpu.into(), priority.into(), now_ns) })
    }

    pub fn stopping(
        &mut self,
        cpu: u16,
        now_ns: u64,
        reschedule: &mut CpuSet,
    ) -> Result<(), GangError> {
        let partition = self.0.as_mut_ptr();
        // SAFETY: `self.0` holds an initialised partition.
        check(unsafe { shim_gang_stopping(partition, cpu.into(), now_ns, reschedule) })
    }

    pub fn timer(&mut self, now_ns: u64, reschedule: &mut CpuSet) {
        // SAFETY: `self.0` holds an initialised partition.
        unsafe { shim_gang_timer(self.0.as_mut_ptr(), now_ns, reschedule) }
    }

    pub fn next_timer_ns(&self) -> Option<u64> {
        // SAFETY: `self.0` holds an initialised partition.
        let time_ns = unsafe { shim_gang_next_timer_ns(self.0.as_ptr()) };
        (time_ns != NEVER_NS).then_some(time_ns)
    }

    pub fn active_priority(&self) -> Option<u8> {
        // SAFETY: `self.0` holds an initialised partition.
        let priority = unsafe { shim_gang_active_priority(self.0.as_ptr()) };
        u8::try_from(priority).ok().filter(|&priority| priority > 0)
    }

    pub fn is_share_exhausted(&self) -> bool {
        // SAFETY: `self.0` holds an initialised partition.
        unsafe { shim_gang_is_share_exhausted(self.0.as_ptr()) }
    }

    pub fn share_use(&self) -> ShareUse {
        let mut share = ShareUse::default();
        let ShareUse {
            window_start_ns,
            seen_ns,
            used_ns,
        } = &mut share;
        // SAFETY: `self.0` holds an initialised partition.
        unsafe { shim_gang_share_use(self.0.as_ptr(), window_start_ns, seen_ns, used_ns) };
        share
    }
}
