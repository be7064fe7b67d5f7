//! A channel as the last-level cache sees it: requests in, data out.

use std::collections::VecDeque;

use ringfence_scenario::platform::Dram;

use super::address::Decoder;
use super::channel::{Channel, ChannelCounts, NewRequest, ReadDone};
use super::command::Cycle;
use crate::machine::Picoseconds;
use crate::machine::error::MachineError;
use crate::machine::rotating::{Links, RotatingQueue};

/// No line: no write-back waits in this place.
const NONE: u64 = u64::MAX;

/// What one event of a controller brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::machine) enum DramEvent {
    /// Nothing for the cache.
    Internal,
    /// The data that this register waits for are back at the cache.
    Data(u16),
    /// The write-back in this place of the buffer left the cache.
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
    /// Waiting reads by register; ready times are clocks of the channel.
    reads: RotatingQueue,
    read_links: Links,
    /// Waiting write-backs by place; ready times as for reads.
    writes: RotatingQueue,
    write_links: Links,
    /// Line read for a register.
    read_lines: Vec<u64>,
    /// Line written back from a place, as long as it waits here.
    write_lines: Vec<u64>,
    /// Data on their way back, in order of time.
    returns: VecDeque<(Picoseconds, u16)>,
}

impl Controller {
    /// The channels of `dram` are alike. Registers and places are below `numbers`.
    pub(in crate::machine) fn new(
        dram: &Dram,
        line_bytes: u32,
        cores: usize,
        numbers: usize,
    ) -> Result<Self, MachineError> {
        let link_ps = Picoseconds::from(dram.controller.link_ps);
        Ok(Self {
            channel: Channel::new(dram, line_bytes)?,
            decoder: Decoder::new(dram, line_bytes)?,
            clock_ps: dram.timing.clock_ps.into(),
            to_channel_ps: link_ps / 2,
            from_channel_ps: link_ps - link_ps / 2,
            reads: RotatingQueue::new(cores),
            read_links: Links::new(numbers),
            writes: RotatingQueue::new(cores),
            write_links: Links::new(numbers),
            read_lines: vec![0; numbers],
            write_lines: vec![NONE; numbers],
            returns: VecDeque::with_capacity(numbers),
        })
    }

    pub(in crate::machine) fn counts(&self) -> ChannelCounts {
        self.channel.counts()
    }

    fn arrival(&self, now: Picoseconds) -> Cycle {
        (now + self.to_channel_ps).div_ceil(self.clock_ps)
    }

    /// Sends the read that `register` of the last-level cache waits for, for `core`.
    pub(in crate::machine) fn read(
        &mut self,
        now: Picoseconds,
        core: usize,
        register: u16,
        line: u64,
    ) {
        self.read_lines[usize::from(register)] = line;
        let arrival = self.arrival(now);
        self.reads
            .push(&mut self.read_links, core, register.into(), arrival);
    }

    /// Sends the write-back in `place` of the cache's buffer, which `core` caused.
    pub(in crate::machine) fn write(
        &mut self,
        now: Picoseconds,
        core: usize,
        place: u16,
        line: u64,
    ) {
        self.write_lines[usize::from(place)] = line;
        let arrival = self.arrival(now);
        self.writes
            .push(&mut self.write_links, core, place.into(), arrival);
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
        if let Some(&(at, register)) = self.returns.front()
            && at <= now
        {
            self.returns.pop_front();
            return DramEvent::Data(register);
        }
        let cycle = now / self.clock_ps;
        if self.channel.has_room_for_read()
            && let Some((core, register)) = self.reads.peek(cycle)
        {
            self.reads.pop(&self.read_links, core);
            let done = self.accept_read(cycle, core, register);
            self.send_back(done);
            return DramEvent::Internal;
        }
        if self.channel.has_room_for_write()
            && let Some((core, place)) = self.writes.peek(cycle)
        {
            self.writes.pop(&self.write_links, core);
            let line = std::mem::replace(&mut self.write_lines[place as usize], NONE);
            let request = self.request(core, place, line);
            self.channel.write(cycle, request);
            return DramEvent::WriteAccepted(place as u16);
        }
        let done = self.channel.step(&mut ());
        self.send_back(done);
        DramEvent::Internal
    }

    /// Passes a read on, unless a write of its line still waits here. Such a
    /// write is older: a line that is being read cannot be evicted.
    fn accept_read(&mut self, cycle: Cycle, core: usize, register: u32) -> Option<ReadDone> {
        let line = self.read_lines[register as usize];
        let writes_wait = self.writes.earliest() != u64::MAX;
        if writes_wait && self.write_lines.contains(&line) {
            return Some(self.channel.forward(cycle, register));
        }
        let request = self.request(core, register, line);
        self.channel.read(cycle, request)
    }

    fn request(&self, core: usize, id: u32, line: u64) -> NewRequest {
        NewRequest {
            place: self.decoder.place(line),
            line,
            id,
            source: core as u16,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use ringfence_scenario::platform::{
        AddressMap, DramController, DramTiming, RefreshMode, Scheduler,
    };

    const NUMBERS: usize = 8;

    /// A controller whose write queue holds two lines.
    fn controller() -> Controller {
        let dram = Dram {
            name: "test".into(),
            channels: 1,
            ranks: 1,
            bank_groups: 1,
            banks_per_group: 8,
            row_bytes: 8192,
            rows: 16384,
            burst_bytes: 64,
            address_map: AddressMap::ColumnGroupBankRow,
            bank_xor: Vec::new(),
            refresh: RefreshMode::AllBanks,
            timing: DramTiming {
                clock_ps: 1250,
                cl: 11,
                cwl: 8,
                burst: 4,
                rcd: 11,
                rp: 11,
                rp_all: 11,
                ppd: 1,
                ras: 28,
                rrd_s: 5,
                rrd_l: 5,
                faw: 24,
                ccd_s: 4,
                ccd_l: 4,
                rtp: 6,
                wr: 12,
                wtr_s: 6,
                wtr_l: 6,
                turnaround: 2,
                rfc: 208,
                rfc_bank: 0,
                refi: 0,
                activate_clocks: 1,
                column_clocks: 1,
                precharge_clocks: 1,
            },
            controller: DramController {
                scheduler: Scheduler::FrFcfs,
                read_queue: 32,
                write_queue: 2,
                write_high: 2,
                write_low: 1,
                link_ps: 10_000,
            },
        };
        Controller::new(&dram, 64, 1, NUMBERS).unwrap()
    }

    /// Registers whose data came, until nothing is left to do.
    fn finish(controller: &mut Controller) -> Vec<u16> {
        let mut data = Vec::new();
        loop {
            let at = controller.next_event(0);
            if at == Picoseconds::MAX {
                return data;
            }
            if let DramEvent::Data(register) = controller.step(at) {
                data.push(register);
            }
        }
    }

    #[test]
    fn a_read_gets_the_write_that_still_waits_wherever_it_waits() {
        // Writes of rows of one bank; the first two fit the queue, and all are on the link first.
        let lines: Vec<u64> = (0..5).map(|row| row * 1024).collect();
        for (position, &wanted) in lines.iter().enumerate() {
            let mut controller = controller();
            for (place, &line) in lines.iter().enumerate() {
                controller.write(0, 0, place as u16, line);
            }
            controller.read(0, 0, 7, wanted);
            assert_eq!(finish(&mut controller), [7]);
            let counts = controller.counts();
            assert_eq!(counts.forwarded, 1, "the write at position {position}");
            assert_eq!((counts.reads, counts.written), (1, lines.len() as u64));
        }
    }

    #[test]
    fn a_read_goes_to_the_memory_when_the_write_is_done_or_of_another_line() {
        let mut controller = controller();
        controller.write(0, 0, 0, 1024);
        controller.read(0, 0, 1, 2048);
        assert_eq!(finish(&mut controller), [1]);
        controller.read(1_000_000, 0, 1, 1024);
        assert_eq!(finish(&mut controller), [1]);
        let counts = controller.counts();
        assert_eq!((counts.reads, counts.forwarded, counts.written), (2, 0, 1));
    }
}
