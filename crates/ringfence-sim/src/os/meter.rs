//! A core's traffic, told apart by who caused it.

use ringfence_record::event::Counters;

use crate::machine::Traffic;

/// Reads a core's counters and remembers whose they are.
///
/// Traffic belongs to the thread that was last on the core: lines still under
/// way when it leaves are its own.
#[derive(Debug, Default)]
pub(super) struct Meter {
    total: Traffic,
    best_effort: Lines,
    uncharged: Lines,
    is_best_effort: bool,
}

/// Lines read and written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lines {
    /// Fetched from memory.
    pub(super) read: u64,
    /// Written to memory.
    pub(super) written: u64,
}

impl Meter {
    /// The counters stand at `total` now.
    pub(super) fn read(&mut self, total: Traffic) {
        if self.is_best_effort {
            let read = total.read_lines - self.total.read_lines;
            let written = total.write_lines - self.total.write_lines;
            for lines in [&mut self.best_effort, &mut self.uncharged] {
                lines.read += read;
                lines.written += written;
            }
        }
        self.total = total;
    }

    /// From now on traffic belongs to a thread of this kind.
    pub(super) fn hand_to(&mut self, best_effort: bool) {
        self.is_best_effort = best_effort;
    }

    /// Best-effort use since the last call.
    pub(super) fn take_uncharged(&mut self) -> Lines {
        std::mem::take(&mut self.uncharged)
    }

    /// The totals for the record.
    pub(super) fn counters(&self, line_bytes: u32) -> Counters {
        let bytes = |lines: u64| lines * u64::from(line_bytes);
        Counters {
            read_bytes: bytes(self.total.read_lines),
            write_bytes: bytes(self.total.write_lines),
            best_effort_read_bytes: bytes(self.best_effort.read),
            best_effort_write_bytes: bytes(self.best_effort.written),
            llc_accesses: self.total.llc_accesses,
            llc_misses: self.total.llc_misses,
        }
    }
}
