//! What a trace amounts to.

use crate::access::{Access, Kind, PAGE_BYTES};
use crate::{Error, Job};
use std::collections::BTreeMap;
use std::io::Read;

/// Bytes of the cache line in which working sets are counted.
pub const LINE_BYTES: u64 = 64;

/// Sums over the accesses of a job, or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Accesses that only read.
    pub loads: u64,
    /// Accesses that only write.
    pub stores: u64,
    /// Accesses that read and write.
    pub modifies: u64,
    /// Instructions that access no memory.
    pub other_instructions: u64,
    /// Lines touched, counted once for each access that touches them.
    pub line_touches: u64,
    /// A bit for each line of a page that was touched.
    lines: BTreeMap<u64, u64>,
}

const _: () = assert!(PAGE_BYTES / LINE_BYTES == u64::BITS as u64);

impl Statistics {
    /// Reads the rest of `job`.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn of_job<R: Read>(job: &mut Job<'_, R>) -> Result<Self, Error> {
        let mut statistics = Self::default();
        while let Some(access) = job.next_access()? {
            statistics.add(access);
        }
        let after = job.instructions_after().unwrap_or(0);
        statistics.other_instructions = statistics.other_instructions.saturating_add(after);
        Ok(statistics)
    }

    /// Counts one access.
    pub fn add(&mut self, access: Access) {
        match access.kind {
            Kind::Load => self.loads += 1,
            Kind::Store => self.stores += 1,
            Kind::Modify => self.modifies += 1,
        }
        self.other_instructions = self
            .other_instructions
            .saturating_add(access.instructions_before.into());
        let offset = access.address % PAGE_BYTES;
        let first = offset / LINE_BYTES;
        let last = (offset + u64::from(access.size) - 1) / LINE_BYTES;
        let page = self.lines.entry(access.address / PAGE_BYTES).or_default();
        for line in first..=last {
            *page |= 1 << line;
            self.line_touches += 1;
        }
    }

    /// Adds the counts of another job; lines of both count once.
    pub fn merge(&mut self, other: &Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.modifies += other.modifies;
        self.other_instructions = self
            .other_instructions
            .saturating_add(other.other_instructions);
        self.line_touches += other.line_touches;
        for (page, lines) in &other.lines {
            *self.lines.entry(*page).or_default() |= lines;
        }
    }

    /// Memory accesses of any kind.
    pub fn accesses(&self) -> u64 {
        self.loads + self.stores + self.modifies
    }

    /// Instructions executed; one with several accesses counts once for each.
    pub fn instructions(&self) -> u64 {
        self.other_instructions.saturating_add(self.accesses())
    }

    /// Distinct lines of [`LINE_BYTES`] bytes touched: the working set.
    pub fn distinct_lines(&self) -> u64 {
        self.lines
            .values()
            .map(|lines| u64::from(lines.count_ones()))
            .sum()
    }

    /// The working set in bytes.
    pub fn working_set_bytes(&self) -> u64 {
        self.distinct_lines() * LINE_BYTES
    }

    /// Distinct pages touched.
    pub fn distinct_pages(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Mean number of touches of a line that was touched; 0 without accesses.
    pub fn touches_per_line(&self) -> f64 {
        match self.distinct_lines() {
            0 => 0.0,
            lines => self.line_touches as f64 / lines as f64,
        }
    }
}
