//! A closed-loop load on one DRAM channel.

use std::collections::VecDeque;

use ringfence_scenario::platform::Dram;

use crate::machine::dram::address::Decoder;
use crate::machine::dram::channel::Channel;
use crate::machine::dram::command::Cycle;
use crate::machine::error::MachineError;
use crate::random::SplitMix64;

/// Bytes of a line of the load.
pub const LINE_BYTES: u32 = 64;
const REQUESTORS: u32 = 4;
const LINES_PER_REGION: u64 = (1 << 30) / LINE_BYTES as u64;

/// Order of a requestor's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadPattern {
    /// Line after line.
    Sequential,
    /// Uniform over the requestor's region.
    Random,
}

/// Four requestors, each with its own GiB and a fixed number of reads in flight.
///
/// Each issues at most one read a clock, served in an order that rotates with
/// the clock; it sees its data in the clock in which they are complete and
/// reads again in the next.
#[derive(Debug, Clone)]
pub struct ClosedLoop {
    channel: Channel,
    decoder: Decoder,
    requestors: Vec<Requestor>,
    outstanding: u32,
    clock: Cycle,
    /// Clock and requestor of the reads that have their data, in order of time:
    /// all take the same time from their command.
    done: VecDeque<(Cycle, u32)>,
}

#[derive(Debug, Clone)]
struct Requestor {
    first_line: u64,
    pattern: LoadPattern,
    position: u64,
    random: SplitMix64,
    in_flight: u32,
}

impl Requestor {
    fn next_line(&mut self) -> u64 {
        let line = match self.pattern {
            LoadPattern::Sequential => self.position,
            LoadPattern::Random => self.random.next_u64(),
        };
        self.position += 1;
        self.first_line + line % LINES_PER_REGION
    }
}

impl ClosedLoop {
    /// The load on an idle channel of `dram`, with `outstanding` reads in flight for each requestor.
    ///
    /// # Errors
    /// When the model cannot represent `dram`.
    pub fn new(dram: &Dram, pattern: LoadPattern, outstanding: u32) -> Result<Self, MachineError> {
        let requestor = |r: u64| Requestor {
            first_line: r * LINES_PER_REGION,
            pattern,
            position: 0,
            random: SplitMix64::new(12345 + 7919 * r),
            in_flight: 0,
        };
        Ok(Self {
            channel: Channel::new(dram, LINE_BYTES)?,
            decoder: Decoder::new(dram, LINE_BYTES)?,
            requestors: (0..REQUESTORS.into()).map(requestor).collect(),
            outstanding,
            clock: 0,
            done: VecDeque::new(),
        })
    }

    /// Runs until `reads` more reads are done; returns the clocks that this took.
    pub fn run(&mut self, reads: u64) -> Cycle {
        let start = self.clock;
        let mut left = reads;
        loop {
            while let Some(&(at, requestor)) = self.done.front()
                && at < self.clock
            {
                self.done.pop_front();
                self.requestors[requestor as usize].in_flight -= 1;
                left -= 1;
                if left == 0 {
                    return self.clock - start;
                }
            }
            let more = self.issue();
            while self.channel.next_event() <= self.clock {
                if let Some(read) = self.channel.step(&mut ()) {
                    self.done.push_back((read.at, read.id));
                }
            }
            let next_data = self.done.front().map_or(Cycle::MAX, |&(at, _)| at + 1);
            let next_issue = if more { self.clock + 1 } else { Cycle::MAX };
            self.clock = self.channel.next_event().min(next_data).min(next_issue);
        }
    }

    /// Lets each requestor issue one read; whether any wants to issue another in the next clock.
    fn issue(&mut self) -> bool {
        let mut more = false;
        for k in 0..REQUESTORS {
            let number = (k + (self.clock % Cycle::from(REQUESTORS)) as u32) % REQUESTORS;
            let requestor = &mut self.requestors[number as usize];
            if requestor.in_flight == self.outstanding || !self.channel.has_room_for_read() {
                continue;
            }
            let line = requestor.next_line();
            requestor.in_flight += 1;
            more |= requestor.in_flight < self.outstanding;
            // Nothing is written, so no read is answered from the write queue.
            let _ = self
                .channel
                .read(self.clock, self.decoder.place(line), line, number);
        }
        more
    }
}
