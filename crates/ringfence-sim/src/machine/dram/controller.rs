//! A channel as the last-level cache sees it: requests in, data out.

use std::collections::VecDeque;

use ringfence_scenario::platform::Dram;

use super::address::Decoder;
use super::channel::{Channel, ChannelCounts, ReadDone};
use super::command::Cycle;
use crate::machine::Picoseconds;
use crate::machine::error::MachineError;
use crate::machine::rotating::{Links, RotatingQueue};

/// What one event of a controller brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::machine) enum DramEvent {
    /// Nothing for the cache.
    Internal,
    /// The data of the miss are back at the cache.
    Data(u16),
    /// The write-back of the miss left the cache.
    WriteAccepted(u16),
}

/// One channel behind its link.
///
/// Requests that find the channel's queues full wait here, the cores in turn.
#[derive(Debug, Clone)]
pub(in crate::machine) struct Controller {
    channel: Channel,
    decoder: Decoder,
    clock_ps: Picoseconds,
    to_channel_ps: Picoseconds,
    from_channel_ps: Picoseconds,
    /// Waiting requests by miss; ready times are clocks of the channel.
    reads: RotatingQueue,
    read_links: Links,
    writes: RotatingQueue,
    write_links: Links,
    /// Line read for a miss and line written back for it.
    read_lines: Vec<u64>,
    write_lines: Vec<u64>,
    /// Data on their way back, in order of time.
    returns: VecDeque<(Picoseconds, u16)>,
}

impl Controller {
    pub(in crate::machine) fn new(
        dram: &Dram,
        line_bytes: u32,
        cores: usize,
        misses: usize,
    ) -> Result<Self, MachineError> {
        let link_ps = Picoseconds::from(dram.controller.link_ps);
        Ok(Self {
            channel: Channel::new(dram, line_bytes)?,
            decoder: Decoder::new(dram, line_bytes)?,
            clock_ps: dram.timing.clock_ps.into(),
            to_channel_ps: link_ps / 2,
            from_channel_ps: link_ps - link_ps / 2,
            reads: RotatingQueue::new(cores),
            read_links: Links::new(misses),
            writes: RotatingQueue::new(cores),
            write_links: Links::new(misses),
            read_lines: vec![0; misses],
            write_lines: vec![0; misses],
            returns: VecDeque::with_capacity(misses),
        })
    }

    pub(in crate::machine) fn counts(&self) -> ChannelCounts {
        self.channel.counts()
    }

    fn arrival(&self, now: Picoseconds) -> Cycle {
        (now + self.to_channel_ps).div_ceil(self.clock_ps)
    }

    /// Sends the read of `miss` for `core`.
    pub(in crate::machine) fn read(&mut self, now: Picoseconds, core: usize, miss: u16, line: u64) {
        self.read_lines[usize::from(miss)] = line;
        let arrival = self.arrival(now);
        self.reads
            .push(&mut self.read_links, core, miss.into(), arrival);
    }

    /// Sends the write-back that `miss` of `core` caused.
    pub(in crate::machine) fn write(
        &mut self,
        now: Picoseconds,
        core: usize,
        miss: u16,
        line: u64,
    ) {
        self.write_lines[usize::from(miss)] = line;
        let arrival = self.arrival(now);
        self.writes
            .push(&mut self.write_links, core, miss.into(), arrival);
    }

    /// When something happens next, not before `now`.
    #[inline]
    pub(in crate::machine) fn next_event(&self, now: Picoseconds) -> Picoseconds {
        let mut cycle = self.channel.next_event();
        if self.channel.has_room_for_read() {
            cycle = cycle.min(self.reads.earliest());
        }
        if self.channel.has_room_for_write() {
            cycle = cycle.min(self.writes.earliest());
        }
        let at = cycle.saturating_mul(self.clock_ps).max(now);
        self.returns.front().map_or(at, |&(back, _)| at.min(back))
    }

    /// Does the first thing that is due at `now`: data, then arrivals, then a command.
    pub(in crate::machine) fn step(&mut self, now: Picoseconds) -> DramEvent {
        if let Some(&(at, miss)) = self.returns.front()
            && at <= now
        {
            self.returns.pop_front();
            return DramEvent::Data(miss);
        }
        let cycle = now / self.clock_ps;
        if self.channel.has_room_for_read()
            && let Some((core, miss)) = self.reads.peek(&self.read_links, cycle)
        {
            self.reads.pop(&self.read_links, core);
            let line = self.read_lines[miss as usize];
            let done = self
                .channel
                .read(cycle, self.decoder.place(line), line, miss);
            self.send_back(done);
            return DramEvent::Internal;
        }
        if self.channel.has_room_for_write()
            && let Some((core, miss)) = self.writes.peek(&self.write_links, cycle)
        {
            self.writes.pop(&self.write_links, core);
            let line = self.write_lines[miss as usize];
            self.channel.write(cycle, self.decoder.place(line), line);
            return DramEvent::WriteAccepted(miss as u16);
        }
        let done = self.channel.step(&mut ());
        self.send_back(done);
        DramEvent::Internal
    }

    fn send_back(&mut self, done: Option<ReadDone>) {
        if let Some(read) = done {
            self.returns.push_back((
                read.at * self.clock_ps + self.from_channel_ps,
                read.id as u16,
            ));
        }
    }
}
