//! A core's traffic, for the regulator and for the record.

use ringfence_record::event::Counters;

use crate::machine::CoreTraffic;

/// Reads a core's counters and remembers what was charged.
///
/// The machine tells apart whose traffic it is; see [`CoreTraffic`].
#[derive(Debug, Default)]
pub(super) struct Meter {
    traffic: CoreTraffic,
    charged: Lines,
    /// What the core's VM was charged.
    charged_to_vm: u64,
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
    /// The counters stand at `traffic` now.
    pub(super) fn read(&mut self, traffic: CoreTraffic) {
        self.traffic = traffic;
    }

    /// Best-effort use since the last call.
    pub(super) fn take_uncharged(&mut self) -> Lines {
        let used = Lines {
            read: self.traffic.best_effort.read_lines,
            written: self.traffic.best_effort.write_lines,
        };
        let charged = std::mem::replace(&mut self.charged, used);
        Lines {
            read: used.read - charged.read,
            written: used.written - charged.written,
        }
    }

    /// Lines of all threads, both ways, since the last call.
    pub(super) fn take_uncharged_to_vm(&mut self) -> u64 {
        let lines = self.traffic.lines();
        lines - std::mem::replace(&mut self.charged_to_vm, lines)
    }

    /// The totals for the record.
    pub(super) fn counters(&self, line_bytes: u32) -> Counters {
        let bytes = |lines: u64| lines * u64::from(line_bytes);
        let (all, best_effort) = (self.traffic.total(), &self.traffic.best_effort);
        Counters {
            read_bytes: bytes(all.read_lines),
            write_bytes: bytes(all.write_lines),
            best_effort_read_bytes: bytes(best_effort.read_lines),
            best_effort_write_bytes: bytes(best_effort.write_lines),
            llc_accesses: all.llc_accesses,
            llc_misses: all.llc_misses,
        }
    }
}
