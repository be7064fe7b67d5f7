//! Where a thread is in a program of phases with a barrier after each.

#[derive(Debug, Clone)]
pub(super) struct Barriers {
    phase: usize,
    phases: usize,
    /// The thread waits for the others at the end of its phase.
    waits: bool,
    /// Best-effort work goes on by itself and starts over at the end.
    endless: bool,
}

impl Barriers {
    pub(super) fn new(phases: usize, endless: bool) -> Self {
        Self {
            phase: 0,
            phases,
            waits: false,
            endless,
        }
    }

    /// The phase that the thread executes; `None` while it waits.
    #[inline]
    pub(super) fn phase(&self) -> Option<usize> {
        (!self.waits).then_some(self.phase)
    }

    /// The thread has ended its phase.
    pub(super) fn arrive(&mut self) {
        if !self.endless {
            self.waits = true;
        } else if self.has_next() {
            self.phase += 1;
        } else {
            self.phase = 0;
        }
    }

    pub(super) fn has_next(&self) -> bool {
        self.phase + 1 < self.phases
    }

    /// Goes on with the next phase after an end.
    pub(super) fn resume(&mut self) {
        if self.waits && self.has_next() {
            self.phase += 1;
            self.waits = false;
        }
    }

    pub(super) fn begin_job(&mut self) {
        self.phase = 0;
        self.waits = false;
    }
}
