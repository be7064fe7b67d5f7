//! What changes all the time, as it is read from a scheduler or from a board.

use ringfence_policy::gang::ShareUse;

/// A set of priorities, 1 to 99.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Priorities(pub u128);

impl Priorities {
    /// Adds one; what is none is left out.
    pub fn insert(&mut self, priority: u8) {
        self.0 |= 1_u128.checked_shl(priority.into()).unwrap_or(0);
    }

    /// Whether it is one of them.
    pub fn contains(self, priority: u8) -> bool {
        self.0.checked_shr(priority.into()).unwrap_or(0) & 1 == 1
    }
}

/// What a partition does now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartitionState {
    /// Priority of the gang that has the CPUs; 0 if none has.
    pub holder: u8,
    /// Priorities that have a runnable thread.
    pub runnable: Priorities,
    /// What was used of the window, when it was counted last.
    pub share: ShareUse,
    /// Whether that is all: no gang may run before the window ends.
    pub is_exhausted: bool,
}

impl PartitionState {
    /// What was used of the window of `window_ns` that `now_ns` lies in, counted as the policy
    /// does (`rf_share_advance`).
    pub fn share_used_ns(&self, window_ns: u64, now_ns: u64) -> u64 {
        let is_busy = self.holder > 0;
        let into_window_ns = now_ns.saturating_sub(self.share.window_start_ns);
        if into_window_ns < window_ns {
            let unseen_ns = now_ns.saturating_sub(self.share.seen_ns);
            return self.share.used_ns + if is_busy { unseen_ns } else { 0 };
        }
        match is_busy {
            true => into_window_ns.checked_rem(window_ns).unwrap_or(0),
            false => 0,
        }
    }
}

/// What a CPU does now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuState {
    /// Priority of the gang that it holds the lock of its partition for; 0 if none.
    pub held: u8,
    /// Whether it gets no best-effort work until the next period; `None` if it is not
    /// regulated.
    pub is_throttled: Option<bool>,
    /// Of best-effort work, in the period.
    pub budgets: Vec<super::snapshot::Budget>,
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// In the order of the scenario.
    pub partitions: Vec<PartitionState>,
    /// By number.
    pub cpus: Vec<CpuState>,
}
