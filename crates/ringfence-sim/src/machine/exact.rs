//! The exact engine: every access through L1, last-level cache and DRAM.

mod tasks;

use ringfence_scenario::platform::{Inclusion, Platform};

use super::agenda::{Agenda, MAX_COMPONENTS, NEVER};
use super::core::{Core, Fetch, Reason, Step};
use super::dram::address::Decoder;
use super::dram::channel::ChannelCounts;
use super::dram::controller::{Controller, DramEvent};
use super::error::MachineError;
use super::llc::{Llc, Request, RequestKind, Served, Surroundings};
use super::pages::PageAllocator;
use super::{CoreTraffic, Machine, Picoseconds, Stop, StreamId, TrafficLimit};
use crate::program::{Clock, Stream};

/// A modelled board.
///
/// Events happen in order of time; at equal times memory channels go first,
/// then banks of the last-level cache, then cores, each by number. Where that
/// order would favour a component, a rotating arbiter decides instead. Cores go
/// last because what happens at a horizon may leave them for the next one.
#[derive(Debug)]
pub struct ExactMachine {
    lookahead: Picoseconds,
    clock: Clock,
    line_bytes: u32,
    /// Core to bank of the last-level cache.
    to_llc_ps: Picoseconds,
    /// Bank of the last-level cache back to the core.
    from_llc_ps: Picoseconds,
    now: Picoseconds,
    /// No instruction that begins here or later is executed yet.
    horizon: Picoseconds,
    agenda: Agenda,
    channels: Vec<Controller>,
    decoder: Decoder,
    cores: Vec<Core>,
    llc: Llc,
    /// What leaves the last-level cache leaves the L1 caches too.
    inclusive: bool,
    streams: Vec<Stream>,
    pages: PageAllocator,
    all_colours: Vec<u16>,
    seed: u64,
}

impl ExactMachine {
    /// An idle machine with empty caches.
    ///
    /// `seed` decides page placement, random replacement and the programs'
    /// random choices. Results do not depend on `lookahead`, see [`Machine`].
    ///
    /// # Errors
    /// When the platform has no memory system or one that the model cannot represent.
    pub fn new(
        platform: &Platform,
        seed: u64,
        lookahead: Picoseconds,
    ) -> Result<Self, MachineError> {
        let memory = platform
            .memory
            .as_ref()
            .ok_or_else(|| MachineError::NoMemory {
                platform: platform.name.clone(),
            })?;
        check_memory(memory)?;
        let dram = &memory.dram;
        let decoder = Decoder::new(dram, memory.line_bytes)?;
        let memory_bytes = dram.capacity_bytes();
        let memory_lines = memory_bytes / u64::from(memory.line_bytes);
        let clock = Clock::new(
            platform.frequency_hz,
            memory.core.cycles_per_instruction_milli,
            memory.core.issue_cycles,
        );
        let cores = usize::from(platform.cores);
        let to_llc_ps = clock.cycles(memory.l1.latency_cycles.into());
        let from_llc_ps = clock.cycles(memory.llc.latency_cycles.into()) - to_llc_ps;
        let llc = Llc::new(
            &memory.llc,
            Surroundings {
                cores,
                entries_per_core: memory.core.outstanding() as usize,
                line_bytes: memory.line_bytes,
                memory_lines,
                cycle_ps: clock.cycle_ps,
                seed,
            },
        )?;
        let numbers = memory.llc.mshrs.max(memory.llc.write_back_buffer) as usize;
        let channels: Vec<Controller> = (0..dram.channels)
            .map(|_| Controller::new(dram, memory.line_bytes, cores, numbers))
            .collect::<Result<_, _>>()?;
        let components = channels.len() + cores + llc.banks();
        if components > MAX_COMPONENTS {
            return Err(MachineError::OutOfRange {
                what: "number of cores, LLC banks and DRAM channels",
                value: components as u64,
                expected: "at most 1024 together",
            });
        }
        let mut machine = Self {
            lookahead: lookahead.max(1),
            clock,
            line_bytes: memory.line_bytes,
            to_llc_ps,
            from_llc_ps,
            now: 0,
            horizon: 0,
            agenda: Agenda::new(components),
            channels,
            decoder,
            cores: (0..cores)
                .map(|_| Core::new(memory, &clock, memory_lines, from_llc_ps))
                .collect::<Result<_, _>>()?,
            llc,
            inclusive: memory.llc.inclusion == Inclusion::Inclusive,
            streams: Vec::new(),
            pages: PageAllocator::new(memory_bytes, memory.page_colours(), memory.page_placement),
            all_colours: (0..memory.page_colours()).collect(),
            seed,
        };
        for channel in 0..machine.channels.len() {
            machine.schedule_channel(channel);
        }
        Ok(machine)
    }

    /// Simulated time reached.
    pub fn now(&self) -> Picoseconds {
        self.now
    }

    /// What the memory channels have done so far, one by one.
    pub fn channel_counts(&self) -> Vec<ChannelCounts> {
        self.channels.iter().map(Controller::counts).collect()
    }

    /// Memory accesses that `stream` has issued.
    pub fn accesses(&self, stream: StreamId) -> u64 {
        self.streams[stream.0 as usize].accesses()
    }

    fn core_component(&self, core: usize) -> usize {
        self.channels.len() + self.llc.banks() + core
    }

    fn schedule_channel(&mut self, channel: usize) {
        let at = self.channels[channel].next_event(self.now);
        self.agenda.set(channel, at);
    }

    #[inline]
    fn schedule_core(&mut self, core: usize) {
        let at = self.cores[core].wake_at.min(self.cores[core].limit_at);
        self.agenda.set(self.core_component(core), at);
    }

    #[inline]
    fn schedule_bank(&mut self, bank: usize) {
        let at = self.llc.next_event(bank).max(self.now);
        self.agenda.set(self.channels.len() + bank, at);
    }

    /// Whatever is due in the channel now; it goes first among all that is.
    fn channel_event(&mut self, channel: usize) {
        loop {
            self.channel_step(channel);
            let at = self.channels[channel].next_event(self.now);
            if at > self.now {
                self.agenda.set(channel, at);
                return;
            }
        }
    }

    fn channel_step(&mut self, channel: usize) {
        match self.channels[channel].step(self.now) {
            DramEvent::Internal => {}
            DramEvent::Data(register) => {
                let at = self.now + self.from_llc_ps;
                while let Some(request) = self.llc.take_waiter(register) {
                    self.reply(request, at);
                }
                let bank = self.llc.filled(register, self.now);
                self.schedule_bank(bank);
                self.wake_bank();
            }
            DramEvent::WriteAccepted(place) => {
                self.llc.written_back(place);
                self.wake_bank();
            }
        }
    }

    fn wake_bank(&mut self) {
        if let Some(bank) = self.llc.wake_bank() {
            self.schedule_bank(bank);
        }
    }

    #[inline]
    fn reply(&mut self, request: Request, at: Picoseconds) {
        let core = &mut self.cores[request.core];
        match request.kind {
            RequestKind::Fill => core.data(request.entry, at, &mut self.streams[core.stream]),
            RequestKind::WriteBack => core.victim_left(request.entry, self.now),
        }
        let component = self.core_component(request.core);
        self.agenda
            .advance(component, self.cores[request.core].wake_at);
    }

    fn core_event(&mut self, core: usize) -> Option<Stop> {
        let number = core as u16;
        let now = self.now;
        if self.cores[core].limit_at <= now {
            self.cores[core].limit_at = NEVER;
            self.schedule_core(core);
            return Some(Stop::LimitReached {
                core: number,
                time: now,
            });
        }
        let limit = (now + self.lookahead).min(self.horizon);
        if self.inclusive {
            self.cores[core].keeps_lines_until = self.next_eviction().max(now + 1);
        }
        loop {
            let this = &mut self.cores[core];
            match this.run(now, limit, &mut self.streams[this.stream]) {
                Step::Sleep if this.wake_at == now => {
                    // At the horizon: `run_until` wakes it when there is another one.
                    self.agenda
                        .set(self.core_component(core), self.cores[core].limit_at);
                    return None;
                }
                Step::Sleep => {
                    self.schedule_core(core);
                    return None;
                }
                Step::Miss => {
                    let Fetch {
                        entry,
                        line,
                        evicted,
                    } = this.fetch;
                    self.request(
                        Request {
                            core,
                            entry,
                            kind: RequestKind::Fill,
                        },
                        line,
                    );
                    if let Some(line) = evicted {
                        self.request(
                            Request {
                                core,
                                entry,
                                kind: RequestKind::WriteBack,
                            },
                            line,
                        );
                    }
                }
                Step::Stopped(reason) => {
                    self.schedule_core(core);
                    return Some(match reason {
                        Reason::Ended => Stop::Ended {
                            core: number,
                            time: now,
                        },
                        Reason::Interrupted => Stop::Interrupted {
                            core: number,
                            time: now,
                        },
                    });
                }
            }
        }
    }

    /// When a line may leave the last-level cache next.
    ///
    /// A bank that is stalled goes on with what a channel does next; a request
    /// that is not made yet takes its way to a bank first.
    fn next_eviction(&self) -> Picoseconds {
        let channels = match self.llc.is_stalled() {
            true => 0..self.channels.len(),
            false => 0..0,
        };
        let next = channels.map(|channel| self.agenda.time(channel)).min();
        let next = next.unwrap_or(NEVER).min(self.now + self.to_llc_ps);
        next.min(self.llc.next_turn())
    }

    fn request(&mut self, request: Request, line: u64) {
        let ways = self.streams[self.cores[request.core].stream].ways;
        let ready = self.now + self.to_llc_ps;
        let bank = self.llc.push(request, line, ways, ready);
        self.schedule_bank(bank);
    }

    fn bank_event(&mut self, bank: usize) {
        let (cores, inclusive) = (&self.cores, self.inclusive);
        let is_dirty_above = |line| inclusive && cores.iter().any(|core| core.has_dirty(line));
        match self.llc.serve(bank, self.now, is_dirty_above) {
            Served::Hit(request) => {
                self.count_access(request);
                self.reply(request, self.now + self.from_llc_ps);
            }
            Served::Merged(request) => self.count_access(request),
            Served::Placed {
                request,
                read,
                victim,
                evicted,
            } => self.placed(request, read, victim, evicted),
            Served::Stalled | Served::SetBusy => {}
        }
        self.schedule_bank(bank);
        self.wake_bank();
    }

    /// A line took a place in the last-level cache; see [`Served::Placed`].
    fn placed(
        &mut self,
        request: Request,
        read: Option<(u16, u64)>,
        victim: Option<u64>,
        evicted: Option<u16>,
    ) {
        let core = request.core;
        self.count_access(request);
        let traffic = self.cores[core].traffic_of(request.entry);
        if read.is_some() {
            traffic.read_lines += 1;
            traffic.llc_misses += 1;
        }
        if evicted.is_some() {
            traffic.write_lines += 1;
        }
        self.check_limit(core);
        match read {
            Some((register, line)) => {
                let channel = self.decoder.channel(line);
                self.channels[channel].read(self.now, core, register, line);
                self.schedule_channel(channel);
            }
            None => self.reply(request, self.now),
        }
        let Some(victim) = victim else {
            return;
        };
        if self.inclusive {
            for core in &mut self.cores {
                core.drop_line(self.now, victim);
            }
        }
        if let Some(place) = evicted {
            let channel = self.decoder.channel(victim);
            self.channels[channel].write(self.now, core, place, victim);
            self.schedule_channel(channel);
        }
    }

    #[inline]
    fn count_access(&mut self, request: Request) {
        if request.kind == RequestKind::Fill {
            let core = &mut self.cores[request.core];
            core.traffic_of(request.entry).llc_accesses += 1;
        }
    }

    /// The counter's interrupt reaches the core one cycle after the event.
    fn check_limit(&mut self, core: usize) {
        let this = &mut self.cores[core];
        let TrafficLimit {
            read_lines,
            write_lines,
            lines,
        } = this.limit;
        let used = &this.traffic.best_effort;
        if used.read_lines >= read_lines
            || used.write_lines >= write_lines
            || this.traffic.lines() >= lines
        {
            this.limit = TrafficLimit::NONE;
            this.limit_at = self.now + self.clock.cycle_ps;
            self.schedule_core(core);
        }
    }
}

impl Machine for ExactMachine {
    fn run_until(&mut self, horizon: Picoseconds) -> Stop {
        let first_bank = self.channels.len();
        let first_core = self.core_component(0);
        self.horizon = horizon;
        for core in 0..self.cores.len() {
            self.schedule_core(core);
        }
        loop {
            let (time, component) = self.agenda.first();
            if time > horizon || time == NEVER {
                self.now = self.now.max(horizon);
                return Stop::Horizon;
            }
            self.now = time;
            if component < first_bank {
                self.channel_event(component);
            } else if component < first_core {
                self.bank_event(component - first_bank);
            } else if let Some(stop) = self.core_event(component - first_core) {
                return stop;
            }
        }
    }

    fn start(&mut self, core: u16, stream: StreamId, at: Picoseconds) {
        let core = usize::from(core);
        let stream = stream.0 as usize;
        self.streams[stream].resume();
        self.cores[core].start(stream, at);
        self.schedule_core(core);
    }

    fn interrupt(&mut self, core: u16, at: Picoseconds) {
        self.cores[usize::from(core)].interrupt(at);
    }

    fn begin_job(&mut self, stream: StreamId, job: u32) {
        self.streams[stream.0 as usize].begin_job(job);
    }

    fn has_next_phase(&self, stream: StreamId) -> bool {
        self.streams[stream.0 as usize].has_next_phase()
    }

    fn traffic(&self, core: u16) -> CoreTraffic {
        self.cores[usize::from(core)].traffic
    }

    fn executed(&self, stream: StreamId) -> Option<u64> {
        Some(self.accesses(stream))
    }

    fn set_traffic_limit(&mut self, core: u16, limit: TrafficLimit) {
        let core = usize::from(core);
        self.cores[core].limit = limit;
        self.cores[core].limit_at = NEVER;
        self.check_limit(core);
        self.schedule_core(core);
    }
}

fn check_memory(memory: &ringfence_scenario::platform::MemorySystem) -> Result<(), MachineError> {
    if !(16..=256).contains(&memory.line_bytes) || !memory.line_bytes.is_power_of_two() {
        return Err(MachineError::OutOfRange {
            what: "line_bytes",
            value: memory.line_bytes.into(),
            expected: "a power of two from 16 to 256",
        });
    }
    if memory.llc.latency_cycles <= memory.l1.latency_cycles {
        return Err(MachineError::OutOfRange {
            what: "llc.latency_cycles",
            value: memory.llc.latency_cycles.into(),
            expected: "more than l1.latency_cycles",
        });
    }
    Ok(())
}
