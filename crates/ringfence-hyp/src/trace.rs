//! What the hypervisor traces: `hyp/core/trace.h`.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::HypError;

const MAGIC: u64 = u64::from_le_bytes(*b"rngftrc2");
const HEADER_BYTES: u64 = 4096;
const ENTRY_BYTES: u64 = 64;

/// What happened to the vCPU of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It starts.
    On,
    /// It is off, and its events are all counted.
    Off,
    /// A period of its reservation begins.
    Refill,
    /// Its share is used: it stands still.
    Throttle,
    /// It goes on.
    Resume,
    /// It gives of its share of a period.
    Lend(Loan),
    /// It takes what was given for a period.
    Borrow(Loan),
    /// It changes the reservation of a VM.
    Change(Change),
}

/// Events that change hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loan {
    /// How many.
    pub events: u64,
    /// Number of the period that they are for.
    pub period: u64,
}

/// A VM's reservation is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Number of the VM in its table.
    pub vm: u64,
    /// Events of all its vCPUs together in a period.
    pub budget_events: u64,
    /// Length of a period, in nanoseconds.
    pub period_ns: u64,
    /// When the first such period begins.
    pub from_ns: u64,
}

impl Kind {
    fn of(number: u64, about: [u64; 4]) -> Option<Self> {
        let [first, second, third, fourth] = about;
        let loan = Loan {
            events: first,
            period: second,
        };
        Some(match number {
            1 => Self::On,
            2 => Self::Off,
            3 => Self::Refill,
            4 => Self::Throttle,
            5 => Self::Resume,
            6 => Self::Lend(loan),
            7 => Self::Borrow(loan),
            8 => Self::Change(Change {
                vm: first,
                budget_events: second,
                period_ns: third,
                from_ns: fourth,
            }),
            _ => return None,
        })
    }
}

/// One entry of a core's ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When, in nanoseconds since the machine was turned on.
    pub time_ns: u64,
    /// What.
    pub kind: Kind,
    /// Memory events that the core has counted since then.
    pub events: u64,
}

/// What was read of a core's ring.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreTrace {
    /// Its entries, in their order.
    pub entries: Vec<Entry>,
    /// Entries that were overwritten before they were read.
    pub lost: u64,
}

/// Reads the rings while the hypervisor writes them, or after.
#[derive(Debug)]
pub struct Reader {
    memory: File,
    bytes: u64,
    /// Rings and entries of each, when the header is there.
    shape: Option<(u64, u64)>,
    /// Sequence number that comes next, for each core.
    next: Vec<u64>,
    /// What has been read.
    pub cores: Vec<CoreTrace>,
}

impl Reader {
    /// Reads the file that the machine has as its memory of the trace, for so many cores.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path, cores: u16) -> Result<Self, HypError> {
        let memory = File::open(path).map_err(|error| HypError::file(path, error))?;
        let metadata = memory.metadata();
        let bytes = metadata.map_err(|error| HypError::file(path, error))?.len();
        Ok(Self {
            memory,
            bytes,
            shape: None,
            next: vec![1; usize::from(cores)],
            cores: vec![CoreTrace::default(); usize::from(cores)],
        })
    }

    /// Reads all that has come since the last time.
    ///
    /// # Errors
    /// The file cannot be read, or it does not hold what a hypervisor writes.
    pub fn read(&mut self) -> Result<(), HypError> {
        let Some((rings, entries)) = self.shape()? else {
            return Ok(());
        };
        for core in 0..rings {
            self.read_ring(core, entries)?;
        }
        Ok(())
    }

    /// The latest time of a core; `None` before its first entry.
    pub fn reached_ns(&self, core: u16) -> Option<u64> {
        let last = self.cores[usize::from(core)].entries.last();
        last.map(|entry| entry.time_ns)
    }

    fn shape(&mut self) -> Result<Option<(u64, u64)>, HypError> {
        if self.shape.is_some() {
            return Ok(self.shape);
        }
        let [magic, rings, entries] = self.words(0)?;
        if magic == 0 {
            return Ok(None);
        }
        let ring_bytes = entries.checked_mul(ENTRY_BYTES);
        let end = ring_bytes.and_then(|bytes| bytes.checked_mul(rings)?.checked_add(HEADER_BYTES));
        let fits = end.is_some_and(|end| end <= self.bytes);
        if magic != MAGIC || rings != self.cores.len() as u64 || entries == 0 || !fits {
            return Err(damaged(&format!(
                "a header of {magic:#x}, {rings} rings of {entries} entries"
            )));
        }
        self.shape = Some((rings, entries));
        Ok(self.shape)
    }

    fn read_ring(&mut self, core: u64, entries: u64) -> Result<(), HypError> {
        let ring = HEADER_BYTES + core * entries * ENTRY_BYTES;
        let index = core as usize;
        loop {
            let expected = self.next[index];
            let at = ring + (expected - 1) % entries * ENTRY_BYTES;
            let [sequence, time_ns, kind, events, about @ ..] = self.words::<8>(at)?;
            let [still] = self.words(at)?;
            if sequence < expected {
                // Not there yet; 0 while it is being written.
                return Ok(());
            }
            if sequence != still || sequence > expected {
                // It was overwritten: the ring holds nothing older than a round before this one.
                let oldest = still.max(sequence).saturating_sub(entries) + 1;
                let oldest = oldest.max(expected + 1);
                self.cores[index].lost += oldest - expected;
                self.next[index] = oldest;
                continue;
            }
            let kind = Kind::of(kind, about)
                .ok_or_else(|| damaged(&format!("an entry of kind {kind}")))?;
            let read = &mut self.cores[index].entries;
            if read
                .last()
                .is_some_and(|last| last.time_ns > time_ns || last.events > events)
            {
                return Err(damaged(&format!("an entry of core {core} that goes back")));
            }
            read.push(Entry {
                time_ns,
                kind,
                events,
            });
            self.next[index] = expected + 1;
        }
    }

    fn words<const N: usize>(&self, at: u64) -> Result<[u64; N], HypError> {
        let mut bytes = vec![0; 8 * N];
        let read = self.memory.read_exact_at(&mut bytes, at);
        read.map_err(|error| HypError::Failed(format!("the trace cannot be read: {error}")))?;
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        Ok(words)
    }
}

fn damaged(what: &str) -> HypError {
    HypError::Failed(format!(
        "the trace of the machine has {what}, which no hypervisor of this version writes"
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENTRIES: u64 = 8;

    /// A region as the hypervisor writes it, after `written` entries of each core.
    fn region(written: &[u64]) -> Vec<u8> {
        let rings = written.len() as u64;
        let mut bytes = vec![0; (HEADER_BYTES + rings * ENTRIES * ENTRY_BYTES) as usize];
        let mut put = |at: u64, words: &[u64]| {
            for (at, word) in (at..).step_by(8).zip(words) {
                bytes[at as usize..][..8].copy_from_slice(&word.to_le_bytes());
            }
        };
        put(0, &[MAGIC, rings, ENTRIES]);
        for (core, &written) in (0..).zip(written) {
            for n in 1..=written {
                let at = HEADER_BYTES + (core * ENTRIES + (n - 1) % ENTRIES) * ENTRY_BYTES;
                put(at, &[n, n * 100, 3, n * 7]);
            }
        }
        bytes
    }

    fn reader(path: &Path, cores: u16) -> Reader {
        Reader::open(path, cores).unwrap()
    }

    proptest! {
        /// Each entry is read once and in its order, or counted as lost.
        #[test]
        fn nothing_is_lost_unseen(
            steps in prop::collection::vec((0_u64..12, 0_u64..12), 1..6),
        ) {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), region(&[0, 0])).unwrap();
            let mut reader = reader(file.path(), 2);
            let mut written = [0, 0];
            for (first, second) in steps {
                written = [written[0] + first, written[1] + second];
                std::fs::write(file.path(), region(&written)).unwrap();
                reader.read().unwrap();
            }
            for (core, written) in reader.cores.iter().zip(written) {
                prop_assert_eq!(core.entries.len() as u64 + core.lost, written);
                prop_assert!(core.entries.is_sorted_by(|a, b| a.time_ns < b.time_ns));
                prop_assert!(core.entries.iter().all(|e| e.events * 100 == e.time_ns * 7));
            }
        }
    }

    #[test]
    fn before_the_hypervisor_starts_there_is_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![0; 1 << 16]).unwrap();
        let mut reader = reader(file.path(), 4);
        reader.read().unwrap();
        assert!(reader.cores.iter().all(|core| core.entries.is_empty()));
    }

    #[test]
    fn what_no_hypervisor_writes_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let broken = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = region(&[3]);
            change(&mut bytes);
            std::fs::write(file.path(), bytes).unwrap();
            reader(file.path(), 1).read().unwrap_err().to_string()
        };
        assert!(broken(&|bytes| bytes[0] = 1).contains("a header of"));
        assert!(broken(&|bytes| bytes[23] = 255).contains("a header of"));
        assert!(broken(&|bytes| bytes[4096 + 16] = 9).contains("an entry of kind 9"));
        assert!(broken(&|bytes| bytes[4096 + 64 + 8] = 0).contains("goes back"));
    }
}
