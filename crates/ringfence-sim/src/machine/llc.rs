//! The shared last-level cache: banks, tags and miss-status registers.
//!
//! A miss takes a register until its data are here, and its dirty victim a
//! place in the write-back buffer until the memory controller has it. A bank
//! whose next request finds no room stands still until there is some. Lines that
//! a bank takes in or gives up occupy it as long as one that it serves.

use ringfence_scenario::platform::Llc as Parameters;

use super::cache::{Cache, WayMask};
use super::error::MachineError;
use super::rotating::{Links, RotatingQueue};
use super::{Picoseconds, agenda::NEVER};

const NONE: u32 = u32::MAX;

/// A request of a core: which of its miss entries, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) core: usize,
    pub(crate) entry: usize,
    pub(crate) kind: RequestKind,
}

/// What a core wants of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// The line, for the L1.
    Fill,
    /// Room for a dirty line that the L1 gave up.
    WriteBack,
}

/// What became of the request that a bank served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// The line was here, or a write-back found room.
    Hit(Request),
    /// The line is on its way; the request waits for it.
    Merged(Request),
    /// A line takes a place.
    Placed {
        /// Who asked.
        request: Request,
        /// Line to read from memory, and the register that follows it; none
        /// for a write-back, which is a whole line.
        read: Option<(u16, u64)>,
        /// Line that gave up its place.
        victim: Option<u64>,
        /// Place of the write-back buffer that the victim waits in, if it is dirty.
        evicted: Option<u16>,
    },
    /// No register or no place in the write-back buffer is free: the bank stands still.
    Stalled,
    /// Every line of the set is on its way: the bank tries again.
    SetBusy,
}

/// What a bank that stands still waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lack {
    Register,
    BufferPlace,
}

/// A miss-status register (MSHR): one line on its way and what waits for it.
#[derive(Debug, Clone, Copy)]
struct Register {
    /// Where the line goes; none while the register is free.
    slot: Option<usize>,
    bank: u16,
    /// List of requests that wait for the data.
    first_waiter: u32,
    last_waiter: u32,
}

#[derive(Debug, Clone)]
struct Bank {
    free_at: Picoseconds,
    queue: RotatingQueue,
    stalled_for: Option<Lack>,
    /// Registers that it uses.
    registers: u32,
}

/// What a request is for.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    request: Request,
    line: u64,
    /// Ways that the line may take if it is not here.
    ways: WayMask,
}

/// The cache.
#[derive(Debug, Clone)]
pub(crate) struct Llc {
    tags: Cache,
    banks: Vec<Bank>,
    /// Masks of line-number bits; the parity of each is one bit of the bank's number.
    bank_functions: Vec<u64>,
    service_ps: Picoseconds,
    registers: Vec<Register>,
    free_registers: Vec<u16>,
    registers_per_bank: u32,
    free_buffer_places: Vec<u16>,
    entries_per_core: usize,
    /// The requests by number.
    wanted: Vec<Wanted>,
    links: Links,
    /// Next request that waits for the same line.
    next_waiter: Vec<u32>,
    stalled_banks: usize,
    /// Bank that has the first claim on what it waits for.
    turn: usize,
}

/// Sizes that the cache takes from the rest of the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings {
    pub(crate) cores: usize,
    pub(crate) entries_per_core: usize,
    pub(crate) line_bytes: u32,
    pub(crate) memory_lines: u64,
    pub(crate) cycle_ps: Picoseconds,
    pub(crate) seed: u64,
}

impl Llc {
    pub(crate) fn new(parameters: &Parameters, around: Surroundings) -> Result<Self, MachineError> {
        let functions = parameters.bank_functions.len();
        for (what, value) in [
            ("llc.mshrs", parameters.mshrs),
            ("llc.mshrs_per_bank", parameters.mshrs_per_bank),
            ("llc.write_back_buffer", parameters.write_back_buffer),
        ] {
            if !(1..=4096).contains(&value) {
                return Err(MachineError::OutOfRange {
                    what,
                    value: value.into(),
                    expected: "1 to 4096",
                });
            }
        }
        if functions > 6 {
            return Err(MachineError::OutOfRange {
                what: "number of llc.bank_functions",
                value: functions as u64,
                expected: "at most 6",
            });
        }
        let requests = around.cores * around.entries_per_core * 2;
        let idle = Register {
            slot: None,
            bank: 0,
            first_waiter: NONE,
            last_waiter: NONE,
        };
        let bank = Bank {
            free_at: 0,
            queue: RotatingQueue::new(around.cores),
            stalled_for: None,
            registers: 0,
        };
        let nothing = Wanted {
            request: Request {
                core: 0,
                entry: 0,
                kind: RequestKind::Fill,
            },
            line: 0,
            ways: WayMask::ALL,
        };
        let line_bits = around.line_bytes.trailing_zeros();
        Ok(Self {
            tags: Cache::new(
                parameters.size_bytes,
                parameters.ways,
                around.line_bytes,
                around.memory_lines,
                parameters.replacement,
                around.seed,
            )?,
            banks: vec![bank; 1 << functions],
            bank_functions: parameters
                .bank_functions
                .iter()
                .map(|mask| mask >> line_bits)
                .collect(),
            service_ps: Picoseconds::from(parameters.bank_service_cycles) * around.cycle_ps,
            registers: vec![idle; parameters.mshrs as usize],
            free_registers: (0..parameters.mshrs as u16).rev().collect(),
            registers_per_bank: parameters.mshrs_per_bank,
            free_buffer_places: (0..parameters.write_back_buffer as u16).rev().collect(),
            entries_per_core: around.entries_per_core,
            wanted: vec![nothing; requests],
            links: Links::new(requests),
            next_waiter: vec![NONE; requests],
            stalled_banks: 0,
            turn: 0,
        })
    }

    pub(crate) fn banks(&self) -> usize {
        self.banks.len()
    }

    #[inline]
    pub(crate) fn bank_of(&self, line: u64) -> usize {
        self.bank_functions
            .iter()
            .enumerate()
            .fold(0, |bank, (bit, mask)| {
                bank | ((line & mask).count_ones() as usize & 1) << bit
            })
    }

    #[inline]
    fn number(&self, request: Request) -> u32 {
        ((request.core * self.entries_per_core + request.entry) * 2 + request.kind as usize) as u32
    }

    /// Queues a request that reaches its bank at `ready`; returns the bank.
    /// `ways` are those that the line may take if it is not here.
    pub(crate) fn push(
        &mut self,
        request: Request,
        line: u64,
        ways: WayMask,
        ready: Picoseconds,
    ) -> usize {
        let number = self.number(request);
        self.wanted[number as usize] = Wanted {
            request,
            line,
            ways,
        };
        let bank = self.bank_of(line);
        self.banks[bank]
            .queue
            .push(&mut self.links, request.core, number, ready);
        bank
    }

    /// When `bank` serves its next request.
    #[inline]
    pub(crate) fn next_event(&self, bank: usize) -> Picoseconds {
        let bank = &self.banks[bank];
        match bank.stalled_for {
            Some(_) => NEVER,
            None => bank.queue.earliest().max(bank.free_at),
        }
    }

    /// Whether a bank waits for what only a memory channel can give.
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled_banks > 0
    }

    /// When a bank serves a request next, of those that are here or on their way.
    pub(crate) fn next_turn(&self) -> Picoseconds {
        let turns = (0..self.banks.len()).map(|bank| self.next_event(bank));
        turns.min().unwrap_or(NEVER)
    }

    /// Serves the request of `bank` whose turn it is; one is ready at `now`.
    ///
    /// `is_dirty_above` says whether an L1 has a newer copy of a victim, which
    /// goes with it; for caches that are not inclusive it is always false.
    pub(crate) fn serve(
        &mut self,
        bank: usize,
        now: Picoseconds,
        is_dirty_above: impl Fn(u64) -> bool,
    ) -> Served {
        let (core, number) = self.banks[bank]
            .queue
            .peek(now)
            .expect("a bank wakes for a request");
        let served = self.access(bank, number, is_dirty_above);
        let bank = &mut self.banks[bank];
        match served {
            Served::Stalled => self.stalled_banks += 1,
            Served::SetBusy => bank.free_at = now + self.service_ps.max(1),
            _ => {
                bank.queue.pop(&self.links, core);
                bank.free_at = now + self.service_ps;
                if matches!(
                    served,
                    Served::Placed {
                        evicted: Some(_),
                        ..
                    }
                ) {
                    bank.free_at += self.service_ps;
                }
            }
        }
        served
    }

    fn access(&mut self, bank: usize, number: u32, is_dirty_above: impl Fn(u64) -> bool) -> Served {
        let Wanted {
            request,
            line,
            ways,
        } = self.wanted[number as usize];
        let is_fill = request.kind == RequestKind::Fill;
        if let Some(slot) = self.tags.find(line) {
            return self.found(slot, number);
        }
        if is_fill && !self.has_register(bank) {
            return self.stall(bank, Lack::Register);
        }
        // A line stays marked as pending until it is here and no longer.
        let Some(place) = self.tags.choose(line, ways, |_| true) else {
            return Served::SetBusy;
        };
        let is_dirty = place
            .victim
            .is_some_and(|victim| victim.dirty || is_dirty_above(victim.line));
        if is_dirty && self.free_buffer_places.is_empty() {
            return self.stall(bank, Lack::BufferPlace);
        }
        self.tags.put(place, line, !is_fill, is_fill);
        Served::Placed {
            request,
            read: is_fill.then(|| (self.take_register(bank, place.slot, number), line)),
            victim: place.victim.map(|victim| victim.line),
            evicted: self.free_buffer_places.pop_if(|_| is_dirty),
        }
    }

    fn found(&mut self, slot: usize, number: u32) -> Served {
        let Wanted { request, .. } = self.wanted[number as usize];
        if request.kind == RequestKind::WriteBack {
            self.tags.make_dirty(slot);
            return Served::Hit(request);
        }
        if self.tags.is_pending(slot) {
            let is_for_line = |register: &Register| register.slot == Some(slot);
            let register = self.registers.iter().position(is_for_line);
            self.wait(register.expect("the line is on its way"), number);
            return Served::Merged(request);
        }
        Served::Hit(request)
    }

    fn has_register(&self, bank: usize) -> bool {
        !self.free_registers.is_empty() && self.banks[bank].registers < self.registers_per_bank
    }

    fn stall(&mut self, bank: usize, lack: Lack) -> Served {
        self.banks[bank].stalled_for = Some(lack);
        Served::Stalled
    }

    fn take_register(&mut self, bank: usize, slot: usize, number: u32) -> u16 {
        let register = self.free_registers.pop().expect("one is free");
        self.banks[bank].registers += 1;
        self.registers[usize::from(register)] = Register {
            slot: Some(slot),
            bank: bank as u16,
            first_waiter: NONE,
            last_waiter: NONE,
        };
        self.wait(register.into(), number);
        register
    }

    /// Appends a request to those that wait for the data of `register`.
    fn wait(&mut self, register: usize, number: u32) {
        let register = &mut self.registers[register];
        self.next_waiter[number as usize] = NONE;
        if register.first_waiter == NONE {
            register.first_waiter = number;
        } else {
            self.next_waiter[register.last_waiter as usize] = number;
        }
        register.last_waiter = number;
    }

    /// The next request that waited for the line of `register`, whose data have come.
    pub(crate) fn take_waiter(&mut self, register: u16) -> Option<Request> {
        let register = &mut self.registers[usize::from(register)];
        let number = register.first_waiter;
        if number == NONE {
            return None;
        }
        register.first_waiter = self.next_waiter[number as usize];
        Some(self.wanted[number as usize].request)
    }

    /// The data of `register` have come; returns its bank, which takes them in.
    pub(crate) fn filled(&mut self, register: u16, now: Picoseconds) -> usize {
        let state = &mut self.registers[usize::from(register)];
        let slot = state.slot.take().expect("it waits for a line");
        self.tags.complete(slot);
        let number = usize::from(state.bank);
        let bank = &mut self.banks[number];
        bank.registers -= 1;
        bank.free_at = bank.free_at.max(now) + self.service_ps;
        self.free_registers.push(register);
        number
    }

    /// The victim in `place` of the write-back buffer has left.
    pub(crate) fn written_back(&mut self, place: u16) {
        self.free_buffer_places.push(place);
    }

    /// Lets the bank whose turn it is go on, if one stands still that need not; returns it.
    #[inline]
    pub(crate) fn wake_bank(&mut self) -> Option<usize> {
        if self.stalled_banks == 0 {
            return None;
        }
        let banks = self.banks.len();
        let bank = (0..banks).map(|k| (self.turn + k) % banks).find(|&bank| {
            match self.banks[bank].stalled_for {
                None => false,
                Some(Lack::Register) => self.has_register(bank),
                Some(Lack::BufferPlace) => !self.free_buffer_places.is_empty(),
            }
        })?;
        self.banks[bank].stalled_for = None;
        self.stalled_banks -= 1;
        self.turn = (bank + 1) % banks;
        Some(bank)
    }
}
