//! The shared last-level cache: banks, tags and miss-status registers.
//!
//! Non-inclusive: an eviction here leaves the cores' L1 caches alone.

use ringfence_scenario::platform::Llc as Parameters;

use super::cache::{Cache, Inserted};
use super::error::MachineError;
use super::rotating::{Links, RotatingQueue};
use super::{Picoseconds, agenda::NEVER};

const NONE: u32 = u32::MAX;

/// A request of a core: which of its miss entries, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) core: usize,
    pub(super) entry: usize,
    pub(super) kind: RequestKind,
}

/// What a core wants of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// The line, for the L1.
    Fill,
    /// Room for a dirty line that the L1 gave up.
    WriteBack,
}

/// What became of the request that a bank served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Served {
    /// The line was here, or a write-back found room.
    Hit(Request),
    /// The line is on its way; the request waits for it.
    Merged(Request),
    /// A line takes a place.
    Miss {
        /// Who asked.
        request: Request,
        /// Register that follows the miss.
        register: u16,
        /// Line to read from memory; none for a write-back, which is a whole line.
        read: Option<u64>,
        /// Dirty line to write to memory.
        evicted: Option<u64>,
    },
    /// Every register is in use: the bank stands still until one is free.
    RegistersFull,
    /// Every line of the set is on its way: the bank tries again.
    SetBusy,
}

/// A miss-status register (MSHR): one line on its way and what waits for it.
#[derive(Debug, Clone, Copy)]
struct Register {
    line: u64,
    /// The data are still in memory.
    reading: bool,
    /// The victim is still here.
    evicting: bool,
    /// List of requests that wait for the data.
    first_waiter: u32,
    last_waiter: u32,
}

#[derive(Debug, Clone)]
struct Bank {
    free_at: Picoseconds,
    queue: RotatingQueue,
    stalled: bool,
}

/// The cache.
#[derive(Debug, Clone)]
pub(super) struct Llc {
    tags: Cache,
    banks: Vec<Bank>,
    /// Masks of line-number bits; the parity of each is one bit of the bank's number.
    bank_functions: Vec<u64>,
    service_ps: Picoseconds,
    registers: Vec<Register>,
    free_registers: Vec<u16>,
    entries_per_core: usize,
    lines: Vec<u64>,
    links: Links,
    /// Next request that waits for the same line.
    next_waiter: Vec<u32>,
    stalled_banks: usize,
    /// Bank that has the first claim on a free register.
    turn: usize,
}

/// Sizes that the cache takes from the rest of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    pub(super) cores: usize,
    pub(super) entries_per_core: usize,
    pub(super) line_bytes: u32,
    pub(super) memory_lines: u64,
    pub(super) cycle_ps: Picoseconds,
    pub(super) seed: u64,
}

impl Llc {
    pub(super) fn new(parameters: &Parameters, around: Surroundings) -> Result<Self, MachineError> {
        let functions = parameters.bank_functions.len();
        for (what, value, highest) in [
            ("llc.mshrs", u64::from(parameters.mshrs), 4096),
            (
                "number of llc.bank_functions plus 1",
                functions as u64 + 1,
                9,
            ),
        ] {
            if !(1..=highest).contains(&value) {
                return Err(MachineError::OutOfRange {
                    what,
                    value,
                    expected: "1 to 4096 MSHRs, at most 8 bank functions",
                });
            }
        }
        let requests = around.cores * around.entries_per_core * 2;
        let idle = Register {
            line: 0,
            reading: false,
            evicting: false,
            first_waiter: NONE,
            last_waiter: NONE,
        };
        let bank = Bank {
            free_at: 0,
            queue: RotatingQueue::new(around.cores),
            stalled: false,
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
            entries_per_core: around.entries_per_core,
            lines: vec![0; requests],
            links: Links::new(requests),
            next_waiter: vec![NONE; requests],
            stalled_banks: 0,
            turn: 0,
        })
    }

    pub(super) fn banks(&self) -> usize {
        self.banks.len()
    }

    #[inline]
    fn bank_of(&self, line: u64) -> usize {
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

    #[inline]
    fn request(&self, number: u32) -> Request {
        let entry = number as usize / 2;
        Request {
            core: entry / self.entries_per_core,
            entry: entry % self.entries_per_core,
            kind: if number & 1 == 0 {
                RequestKind::Fill
            } else {
                RequestKind::WriteBack
            },
        }
    }

    /// Queues a request that reaches its bank at `ready`; returns the bank.
    pub(super) fn push(&mut self, request: Request, line: u64, ready: Picoseconds) -> usize {
        let number = self.number(request);
        self.lines[number as usize] = line;
        let bank = self.bank_of(line);
        self.banks[bank]
            .queue
            .push(&mut self.links, request.core, number, ready);
        bank
    }

    /// When `bank` serves its next request.
    #[inline]
    pub(super) fn next_event(&self, bank: usize) -> Picoseconds {
        let bank = &self.banks[bank];
        if bank.stalled {
            NEVER
        } else {
            bank.queue.earliest().max(bank.free_at)
        }
    }

    /// Serves the request of `bank` whose turn it is; one is ready at `now`.
    pub(super) fn serve(&mut self, bank: usize, now: Picoseconds) -> Served {
        let (core, number) = self.banks[bank]
            .queue
            .peek(&self.links, now)
            .expect("a bank wakes for a request");
        let request = self.request(number);
        let served = self.access(request, number);
        let bank = &mut self.banks[bank];
        match served {
            Served::RegistersFull => {
                bank.stalled = true;
                self.stalled_banks += 1;
            }
            Served::SetBusy => bank.free_at = now + self.service_ps.max(1),
            _ => {
                bank.queue.pop(&self.links, core);
                bank.free_at = now + self.service_ps;
            }
        }
        served
    }

    fn access(&mut self, request: Request, number: u32) -> Served {
        let line = self.lines[number as usize];
        if let Some(slot) = self.tags.find(line) {
            if request.kind == RequestKind::WriteBack {
                self.tags.make_dirty(slot);
                return Served::Hit(request);
            }
            if self.tags.is_pending(slot) {
                if let Some(register) = self
                    .registers
                    .iter()
                    .position(|r| r.reading && r.line == line)
                {
                    self.wait(register, number);
                    return Served::Merged(request);
                }
                self.tags.complete(slot);
            }
            return Served::Hit(request);
        }
        if self.free_registers.is_empty() {
            return Served::RegistersFull;
        }
        let is_fill = request.kind == RequestKind::Fill;
        let registers = &self.registers;
        let on_its_way = |line| registers.iter().any(|r| r.reading && r.line == line);
        let Inserted::Evicted(evicted) = self.tags.insert(line, !is_fill, is_fill, on_its_way)
        else {
            return Served::SetBusy;
        };
        if !is_fill && evicted.is_none() {
            return Served::Hit(request);
        }
        let register = self.free_registers.pop().expect("checked above");
        self.registers[usize::from(register)] = Register {
            line,
            reading: is_fill,
            evicting: evicted.is_some(),
            first_waiter: NONE,
            last_waiter: NONE,
        };
        if is_fill {
            self.wait(register.into(), number);
        }
        Served::Miss {
            request,
            register,
            read: is_fill.then_some(line),
            evicted,
        }
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
    pub(super) fn take_waiter(&mut self, register: u16) -> Option<Request> {
        let register = &mut self.registers[usize::from(register)];
        let number = register.first_waiter;
        if number == NONE {
            return None;
        }
        register.first_waiter = self.next_waiter[number as usize];
        Some(self.request(number))
    }

    /// The data of `register` have come.
    pub(super) fn filled(&mut self, register: u16) {
        self.registers[usize::from(register)].reading = false;
        self.release(register);
    }

    /// The victim of `register` has left.
    pub(super) fn evicted(&mut self, register: u16) {
        self.registers[usize::from(register)].evicting = false;
        self.release(register);
    }

    fn release(&mut self, register: u16) {
        let state = &self.registers[usize::from(register)];
        if !state.reading && !state.evicting {
            self.free_registers.push(register);
        }
    }

    /// Lets the stalled bank whose turn it is go on if a register is free; returns the bank.
    #[inline]
    pub(super) fn wake_bank(&mut self) -> Option<usize> {
        if self.stalled_banks == 0 || self.free_registers.is_empty() {
            return None;
        }
        let banks = self.banks.len();
        let bank = (0..banks)
            .map(|k| (self.turn + k) % banks)
            .find(|&bank| self.banks[bank].stalled)?;
        self.banks[bank].stalled = false;
        self.stalled_banks -= 1;
        self.turn = (bank + 1) % banks;
        Some(bank)
    }
}
