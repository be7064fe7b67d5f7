//! A closed-loop load on a modelled DRAM.

use std::collections::VecDeque;

use ringfence_scenario::platform::Dram;

use crate::machine::dram::address::Decoder;
use crate::machine::dram::channel::{Channel, ChannelCounts, NewRequest, ReadDone};
use crate::machine::dram::command::Cycle;
use crate::machine::error::MachineError;
use crate::random::SplitMix64;

use super::latency::Latencies;

/// Bytes of a line of the load.
pub const LINE_BYTES: u32 = 64;
/// Bytes of a requestor's region, as far as the memory has them.
const REGION_BYTES: u64 = 1 << 30;
/// Lines between a sequential read and the line that it makes its requestor write back.
const WRITE_BACK_LINES: u64 = 2048;
/// A requestor with more writes than this to send reads no more.
const WAITING_WRITES: usize = 4;
/// Sets of requestors are the bits of a `u64`.
const MAX_REQUESTORS: u32 = 64;
/// Reads that may be on their way together.
const MAX_READS: u32 = 1 << 20;
const NEVER: Cycle = Cycle::MAX;

/// Order of the requestors' lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadPattern {
    /// Line after line.
    Sequential,
    /// Uniform over the requestor's region.
    Random,
    /// The first requestor random, the others sequential.
    Mixed,
}

/// What the requestors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DramLoad {
    /// Order of the lines.
    pub pattern: LoadPattern,
    /// Requestors, 1 to 64, each with a region of its own.
    pub requestors: u32,
    /// Reads that each keeps in flight, at least 1.
    pub outstanding: u32,
    /// Writes in a hundred requests, 0 to 50.
    pub write_percent: u32,
    /// A requestor starts so many bytes further into its region than the one before it; whole lines.
    pub skew_bytes: u64,
}

impl DramLoad {
    /// The reference load: four requestors that only read.
    pub fn reference(pattern: LoadPattern, outstanding: u32) -> Self {
        Self {
            pattern,
            requestors: 4,
            outstanding,
            write_percent: 0,
            skew_bytes: 0,
        }
    }

    fn check(&self) -> Result<(), MachineError> {
        let reads = u64::from(self.requestors) * u64::from(self.outstanding);
        for (what, value, range, expected) in [
            (
                "number of requestors",
                self.requestors.into(),
                1..=MAX_REQUESTORS.into(),
                "1 to 64",
            ),
            (
                "reads in flight of all requestors",
                reads,
                1..=MAX_READS.into(),
                "1 to 1048576",
            ),
            (
                "write share in percent",
                self.write_percent.into(),
                0..=50,
                "0 to 50",
            ),
        ] {
            if !range.contains(&value) {
                return Err(MachineError::OutOfRange {
                    what,
                    value,
                    expected,
                });
            }
        }
        if !self.skew_bytes.is_multiple_of(LINE_BYTES.into()) {
            return Err(MachineError::OutOfRange {
                what: "stream skew in bytes",
                value: self.skew_bytes,
                expected: "a multiple of the line, 64",
            });
        }
        Ok(())
    }
}

/// Requestors that each keep a fixed number of reads in flight.
///
/// Each issues at most one request a clock, a waiting write first; the order in
/// which they are served rotates with the clock. A requestor sees its data in
/// the clock in which they are complete and reads again in the next.
#[derive(Debug, Clone)]
pub struct ClosedLoop {
    channels: Vec<Channel>,
    decoder: Decoder,
    requestors: Vec<Requestor>,
    outstanding: u32,
    write_percent: u32,
    clock: Cycle,
    /// Requestors, as a bit each, that may read ...
    readers: u64,
    /// ... and that have a line to write.
    writers: u64,
    /// When each read in flight was issued, and by whom.
    reads: Vec<(Cycle, u32)>,
    free_reads: Vec<u32>,
    /// Reads that have their data, in order of time: all take the same time from their command.
    done: VecDeque<ReadDone>,
}

#[derive(Debug, Clone)]
struct Requestor {
    first_line: u64,
    /// A power of two.
    lines: u64,
    is_random: bool,
    /// Of the next read, within the region.
    next_line: u64,
    random: SplitMix64,
    in_flight: u32,
    /// What its reads add up to; a write is due at the percentage of reads.
    owed: u32,
    to_write: VecDeque<u64>,
    latencies: Latencies,
}

impl Requestor {
    /// Draws the line of the next read.
    #[inline]
    fn draw_line(&mut self) {
        let line = if self.is_random {
            self.random.next_u64()
        } else {
            self.next_line + 1
        };
        self.next_line = line & (self.lines - 1);
    }

    /// Queues the line that the read of this moment makes it write back.
    fn write_back(&mut self) {
        let line = if self.is_random {
            self.random.next_u64()
        } else {
            self.next_line.wrapping_sub(WRITE_BACK_LINES)
        };
        self.to_write
            .push_back(self.first_line + (line & (self.lines - 1)));
    }

    #[inline]
    fn may_read(&self, outstanding: u32) -> bool {
        self.in_flight < outstanding && self.to_write.len() <= WAITING_WRITES
    }
}

impl ClosedLoop {
    /// The load on idle channels of `dram`.
    ///
    /// # Errors
    /// When the load is out of range or the model cannot represent `dram`.
    pub fn new(dram: &Dram, load: &DramLoad) -> Result<Self, MachineError> {
        load.check()?;
        let decoder = Decoder::new(dram, LINE_BYTES)?;
        let region_bytes = REGION_BYTES.min(dram.capacity_bytes() / u64::from(load.requestors));
        let lines = 1 << (region_bytes / u64::from(LINE_BYTES)).max(1).ilog2();
        let skew_lines = load.skew_bytes / u64::from(LINE_BYTES);
        let requestor = |r: u64| {
            let is_random = match load.pattern {
                LoadPattern::Sequential => false,
                LoadPattern::Random => true,
                LoadPattern::Mixed => r == 0,
            };
            let mut requestor = Requestor {
                first_line: r * lines,
                lines,
                is_random,
                next_line: r.wrapping_mul(skew_lines) & (lines - 1),
                random: SplitMix64::new(12345 + 7919 * r),
                in_flight: 0,
                owed: 0,
                to_write: VecDeque::new(),
                latencies: Latencies::default(),
            };
            if is_random {
                requestor.draw_line();
            }
            requestor
        };
        let reads = load.requestors * load.outstanding;
        let channels = (0..dram.channels).map(|_| Channel::new(dram, LINE_BYTES));
        Ok(Self {
            channels: channels.collect::<Result<_, _>>()?,
            decoder,
            requestors: (0..load.requestors.into()).map(requestor).collect(),
            outstanding: load.outstanding,
            write_percent: load.write_percent,
            clock: 0,
            readers: u64::MAX >> (MAX_REQUESTORS - load.requestors),
            writers: 0,
            reads: vec![(0, 0); reads as usize],
            free_reads: (0..reads).rev().collect(),
            done: VecDeque::with_capacity(reads as usize),
        })
    }

    /// Latencies of each requestor's reads so far, in clocks.
    pub(super) fn latencies(&self) -> impl Iterator<Item = &Latencies> {
        self.requestors.iter().map(|requestor| &requestor.latencies)
    }

    pub(super) fn forget_latencies(&mut self) {
        for requestor in &mut self.requestors {
            requestor.latencies = Latencies::default();
        }
    }

    /// What the channels have done so far.
    pub fn counts(&self) -> impl Iterator<Item = ChannelCounts> {
        self.channels.iter().map(Channel::counts)
    }

    /// Runs until `reads` more reads are done; returns the clocks that this took.
    pub fn run(&mut self, reads: u64) -> Cycle {
        let start = self.clock;
        let mut left = reads;
        let mut next_data = self.next_data();
        loop {
            while next_data <= self.clock {
                if left == 0 {
                    return self.clock - start;
                }
                if let Some(read) = self.done.pop_front() {
                    self.finish(read);
                }
                left -= 1;
                next_data = self.next_data();
            }
            if left == 0 {
                return self.clock - start;
            }
            let mut has_moved = (self.readers | self.writers) != 0 && self.issue();
            let mut next_event = NEVER;
            for channel in &mut self.channels {
                while channel.next_event() <= self.clock {
                    has_moved = true;
                    if let Some(read) = channel.step(&mut ()) {
                        self.done.push_back(read);
                    }
                }
                next_event = next_event.min(channel.next_event());
            }
            if next_data == NEVER {
                next_data = self.next_data();
            }
            // Room in a queue comes with a command.
            let next_issue = if has_moved && (self.readers | self.writers) != 0 {
                self.clock + 1
            } else {
                NEVER
            };
            self.clock = next_event.min(next_data).min(next_issue);
        }
    }

    /// Clock in which a requestor can act on the next data.
    #[inline]
    fn next_data(&self) -> Cycle {
        self.done.front().map_or(NEVER, |read| read.at + 1)
    }

    #[inline]
    fn finish(&mut self, read: ReadDone) {
        let (issued, number) = self.reads[read.id as usize];
        self.free_reads.push(read.id);
        let requestor = &mut self.requestors[number as usize];
        requestor.in_flight -= 1;
        requestor.latencies.add(read.at - issued);
        if requestor.may_read(self.outstanding) {
            self.readers |= 1 << number;
        }
    }

    /// Lets each requestor issue one request; whether any did.
    #[inline]
    fn issue(&mut self) -> bool {
        let waiting = self.readers | self.writers;
        // One alone has no turn to wait for, and the division is slow.
        let before = if waiting.is_power_of_two() {
            0
        } else {
            let first = self.clock % self.requestors.len() as u64;
            waiting & ((1 << first) - 1)
        };
        let mut has_issued = false;
        for mut left in [waiting ^ before, before] {
            while left != 0 {
                let number = left.trailing_zeros();
                left &= left - 1;
                has_issued |= if self.writers >> number & 1 != 0 {
                    self.write(number)
                } else {
                    self.read(number)
                };
            }
        }
        has_issued
    }

    /// Sends the oldest waiting write, if its channel has room.
    fn write(&mut self, number: u32) -> bool {
        let line = self.requestors[number as usize].to_write[0];
        let channel = &mut self.channels[self.decoder.channel(line)];
        if !channel.has_room_for_write() {
            return false;
        }
        let request = NewRequest {
            place: self.decoder.place(line),
            line,
            id: 0,
            source: number as u16,
        };
        channel.write(self.clock, request);
        let requestor = &mut self.requestors[number as usize];
        requestor.to_write.pop_front();
        if requestor.to_write.is_empty() {
            self.writers &= !(1 << number);
        }
        if requestor.may_read(self.outstanding) {
            self.readers |= 1 << number;
        }
        true
    }

    /// Sends the next read, if its channel has room.
    #[inline]
    fn read(&mut self, number: u32) -> bool {
        let requestor = &mut self.requestors[number as usize];
        let line = requestor.first_line + requestor.next_line;
        let channel = &mut self.channels[self.decoder.channel(line)];
        if !channel.has_room_for_read() {
            return false;
        }
        let id = self
            .free_reads
            .pop()
            .expect("a requestor that may read has a free number");
        self.reads[id as usize] = (self.clock, number);
        requestor.in_flight += 1;
        requestor.owed += self.write_percent;
        if requestor.owed >= 100 - self.write_percent {
            requestor.owed -= 100 - self.write_percent;
            requestor.write_back();
            self.writers |= 1 << number;
        }
        requestor.draw_line();
        if !requestor.may_read(self.outstanding) {
            self.readers &= !(1 << number);
        }
        let request = NewRequest {
            place: self.decoder.place(line),
            line,
            id,
            source: number as u16,
        };
        if let Some(forwarded) = channel.read(self.clock, request) {
            self.done.push_back(forwarded);
        }
        true
    }
}
