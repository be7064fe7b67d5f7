//! Shared memory with numbers, which those who enforce write and others read.
//!
//! The memory belongs to no file system: a store never waits for a disk, and all is gone with
//! the process. What one thread writes as a whole, it writes between two steps of a sequence
//! number (a sequence lock): a reader that finds it odd, or another one afterwards, reads again.
//! The writer never waits. Each other number has one writer, too.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use ringfence_policy::gang::ShareUse;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use serde::{Deserialize, Serialize};

use super::state::{PartitionState, Priorities};

const SEQUENCE: usize = 0;
const ALLOWED: usize = 1;
const HEADER: usize = 2;
/// Numbers of a partition: holder, runnable (two), window start, seen, used, exhausted.
const PARTITION: usize = 7;
/// Numbers of a CPU: held, throttled, times throttled.
const CPU: usize = 3;
/// Numbers of a gang: jobs, misses, active time, whether jobs are told.
const GANG: usize = 4;
/// Times that a reader looks again, as long as the writer writes.
const LOOKS: usize = 10_000;

/// How much a board holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Partitions.
    pub partitions: u16,
    /// CPUs, by number.
    pub cpus: u16,
    /// Gangs.
    pub gangs: u16,
}

impl Shape {
    fn partition(self, index: usize) -> Option<usize> {
        (index < self.partitions.into()).then_some(HEADER + index * PARTITION)
    }

    fn cpu(self, index: usize) -> Option<usize> {
        let begin = HEADER + usize::from(self.partitions) * PARTITION;
        (index < self.cpus.into()).then_some(begin + index * CPU)
    }

    fn gang(self, index: usize) -> Option<usize> {
        let begin =
            HEADER + usize::from(self.partitions) * PARTITION + usize::from(self.cpus) * CPU;
        (index < self.gangs.into()).then_some(begin + index * GANG)
    }

    fn words(self) -> usize {
        let Self {
            partitions,
            cpus,
            gangs,
        } = self;
        HEADER
            + usize::from(partitions) * PARTITION
            + usize::from(cpus) * CPU
            + usize::from(gangs) * GANG
    }
}

/// A board that this process writes. What has no place on it is left out.
#[derive(Debug)]
pub struct Board {
    file: OwnedFd,
    words: Words,
    shape: Shape,
}

impl Board {
    /// Makes one, all 0, that nobody can shrink or write from outside.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn create(shape: Shape) -> io::Result<Self> {
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
        let file = rustix::fs::memfd_create("ringfence-live", flags)?;
        let bytes = shape.words() * size_of::<u64>();
        rustix::fs::ftruncate(&file, bytes as u64)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let words = Words::map(file.as_fd(), shape.words(), access)?;
        // Only this mapping can be written from now on, where the kernel knows that (Linux 5.1).
        let _ = rustix::fs::fcntl_add_seals(&file, SealFlags::FUTURE_WRITE);
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        let board = Self { file, words, shape };
        board.set_allowed_ns(None);
        Ok(board)
    }

    /// Where other processes find it, as long as this one lives.
    pub fn path(&self) -> PathBuf {
        let process = std::process::id();
        PathBuf::from(format!("/proc/{process}/fd/{}", self.file.as_raw_fd()))
    }

    /// How much it holds.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// What `write` writes is read as a whole or not at all. One thread alone does this.
    pub fn write(&self, write: impl FnOnce(&Self)) {
        let sequence = self.words.load(SEQUENCE);
        self.words.store(SEQUENCE, sequence + 1);
        fence(Release);
        write(self);
        self.words.get(SEQUENCE).store(sequence + 2, Release);
    }

    /// A partition does this now; within [`Self::write`].
    pub fn set_partition(&self, index: usize, state: &PartitionState) {
        let Some(first) = self.shape.partition(index) else {
            return;
        };
        let PartitionState {
            holder,
            runnable: Priorities(runnable),
            share,
            is_exhausted,
        } = *state;
        let words = [
            holder.into(),
            runnable as u64,
            (runnable >> 64) as u64,
            share.window_start_ns,
            share.seen_ns,
            share.used_ns,
            is_exhausted.into(),
        ];
        for (word, value) in (first..).zip(words) {
            self.words.store(word, value);
        }
    }

    /// A CPU belongs to the gang of this priority now, or to none (0); within [`Self::write`].
    pub fn set_held(&self, cpu: u16, priority: u8) {
        if let Some(first) = self.shape.cpu(cpu.into()) {
            self.words.store(first, priority.into());
        }
    }

    /// So much time of each period is left to best-effort work, if it is limited.
    pub fn set_allowed_ns(&self, allowed_ns: Option<u64>) {
        self.words.store(ALLOWED, allowed_ns.unwrap_or(u64::MAX));
    }

    /// A CPU gets no best-effort work now, or does again.
    pub fn set_throttled(&self, cpu: u16, is_throttled: bool) {
        if let Some(first) = self.shape.cpu(cpu.into()) {
            self.words.store(first + 1, is_throttled.into());
        }
    }

    /// A CPU was throttled once more.
    pub fn count_throttled(&self, cpu: u16) {
        if let Some(first) = self.shape.cpu(cpu.into()) {
            self.words.add(first + 2, 1);
        }
    }

    /// Programs of a gang tell of their jobs.
    pub fn tell_jobs(&self, gang: usize) {
        if let Some(first) = self.shape.gang(gang) {
            self.words.store(first + 3, 1);
        }
    }

    /// A gang has finished one more job.
    pub fn count_job(&self, gang: usize) {
        if let Some(first) = self.shape.gang(gang) {
            self.words.add(first, 1);
        }
    }

    /// A gang has missed one more deadline.
    pub fn count_miss(&self, gang: usize) {
        if let Some(first) = self.shape.gang(gang) {
            self.words.add(first + 1, 1);
        }
    }

    /// A gang had its CPUs for so much longer.
    pub fn add_active_ns(&self, gang: usize, time_ns: u64) {
        if let Some(first) = self.shape.gang(gang) {
            self.words.add(first + 2, time_ns);
        }
    }
}

/// What is on a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// By index.
    pub partitions: Vec<PartitionState>,
    /// By number.
    pub cpus: Vec<CpuContents>,
    /// By index.
    pub gangs: Vec<GangContents>,
    /// Time of each period that is left to best-effort work; `None` if it is not limited.
    pub allowed_ns: Option<u64>,
}

/// What is on a board of one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuContents {
    /// Priority of the gang that has it; 0 if none.
    pub held: u8,
    /// Whether it is throttled.
    pub is_throttled: bool,
    /// How often it was.
    pub times_throttled: u64,
}

/// What is on a board of one gang.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GangContents {
    /// Jobs that it has finished.
    pub jobs: u64,
    /// Deadlines that it has missed.
    pub misses: u64,
    /// How long it had its CPUs.
    pub active_ns: u64,
    /// Whether anybody tells of its jobs.
    pub jobs_are_told: bool,
}

/// Reads the board at `path`; `None` if its writer wrote all the time.
///
/// # Errors
/// It is gone, or this process may not look.
pub fn read(path: &Path, shape: Shape) -> io::Result<Option<Contents>> {
    let file = File::open(path)?;
    // One that could be shrunk while it is read would end this process.
    let is_sealed = rustix::fs::fcntl_get_seals(&file)?.contains(SealFlags::SHRINK);
    let bytes = (shape.words() * size_of::<u64>()) as u64;
    if !is_sealed || file.metadata()?.len() != bytes {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is no board of the shape that was published",
        ));
    }
    let words = Words::map(file.as_fd(), shape.words(), ProtFlags::READ)?;
    Ok((0..LOOKS).find_map(|_| {
        let found = words.read_once(shape);
        if found.is_none() {
            std::thread::yield_now();
        }
        found
    }))
}

/// The memory as numbers: the only `unsafe` of the board.
#[derive(Debug)]
struct Words {
    start: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the mapping belongs to this value alone and is used through atomics only.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    fn map(file: BorrowedFd<'_>, count: usize, access: ProtFlags) -> io::Result<Self> {
        let bytes = count * size_of::<u64>();
        // With its memory at once: a writer must not wait for it later.
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at a place that the system chooses touches nothing else.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, flags, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, count })
    }

    fn get(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.count, "word {index}");
        // SAFETY: the mapping begins at a page, has so many words, and lives as long as `self`;
        // any bytes are numbers.
        unsafe { self.start.add(index).as_ref() }
    }

    fn load(&self, index: usize) -> u64 {
        self.get(index).load(Relaxed)
    }

    fn store(&self, index: usize, value: u64) {
        self.get(index).store(value, Relaxed);
    }

    fn add(&self, index: usize, more: u64) {
        self.store(index, self.load(index).wrapping_add(more));
    }

    /// All of it, or `None` if it was written meanwhile.
    fn read_once(&self, shape: Shape) -> Option<Contents> {
        let before = self.get(SEQUENCE).load(Acquire);
        let contents = self.contents(shape);
        fence(Acquire);
        let is_whole = before.is_multiple_of(2) && before == self.load(SEQUENCE);
        is_whole.then_some(contents)
    }

    fn contents(&self, shape: Shape) -> Contents {
        let partitions = (0..).map_while(|index| shape.partition(index));
        let cpus = (0..).map_while(|index| shape.cpu(index));
        let gangs = (0..).map_while(|index| shape.gang(index));
        Contents {
            partitions: partitions.map(|first| self.partition(first)).collect(),
            cpus: cpus
                .map(|first| CpuContents {
                    held: self.load(first) as u8,
                    is_throttled: self.load(first + 1) > 0,
                    times_throttled: self.load(first + 2),
                })
                .collect(),
            gangs: gangs
                .map(|first| GangContents {
                    jobs: self.load(first),
                    misses: self.load(first + 1),
                    active_ns: self.load(first + 2),
                    jobs_are_told: self.load(first + 3) > 0,
                })
                .collect(),
            allowed_ns: Some(self.load(ALLOWED)).filter(|&time_ns| time_ns != u64::MAX),
        }
    }

    fn partition(&self, first: usize) -> PartitionState {
        let word = |index: usize| self.load(first + index);
        PartitionState {
            holder: word(0) as u8,
            runnable: Priorities(u128::from(word(1)) | u128::from(word(2)) << 64),
            share: ShareUse {
                window_start_ns: word(3),
                seen_ns: word(4),
                used_ns: word(5),
            },
            is_exhausted: word(6) > 0,
        }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours and nothing else points into it. Unmapping whole pages
        // that are mapped cannot fail.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.count * size_of::<u64>()) };
    }
}
