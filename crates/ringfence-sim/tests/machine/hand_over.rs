//! Threads take turns on a core: none executes when it is not there.

use ringfence_scenario::model::Access;
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, Stop, StreamId};
use ringfence_sim::random::SplitMix64;

use crate::board::*;
use crate::support::*;

const CORE: u16 = 0;

/// A board whose core 0 is handed from one stream to another, beside a busy core 1.
struct Turns {
    machine: ExactMachine,
    streams: Vec<StreamId>,
    random: SplitMix64,
    now: Picoseconds,
}

impl Turns {
    fn new(change: Change) -> Self {
        let platform = board_with(2, |memory| {
            // Stores are on their way long after their stream has left.
            memory.core.store_buffer = 16;
            change(memory);
        });
        let mut machine = ExactMachine::new(&platform, 1, LOOKAHEAD_PS).unwrap();
        let programs = [
            lists(Access::Read, 8 << 20, 2, 1),
            bandwidth(Access::Write, 8 << 20, 1),
            lists(Access::Write, 2 << 20, 7, 1),
            fetches(100_000, 2 << 20, 3),
            bandwidth(Access::Write, 4 << 20, 1),
        ];
        let mut streams = add_all(&mut machine, &programs, true);
        machine.start(1, streams.pop().unwrap(), 0);
        Self {
            machine,
            streams,
            random: SplitMix64::new(7),
            now: 0,
        }
    }

    fn executed(&self) -> Vec<u64> {
        let accesses = self
            .streams
            .iter()
            .map(|&stream| self.machine.accesses(stream));
        accesses.collect()
    }

    /// Runs until `time`; what core 0's streams have executed by then.
    fn executed_by(&mut self, time: Picoseconds) -> Vec<u64> {
        assert_eq!(self.machine.run_until(time), Stop::Horizon);
        self.now = time;
        self.executed()
    }

    /// Starts a stream after a while; nobody may execute before.
    fn start(&mut self, name: &str) {
        let before = self.executed();
        let longest = [10, 1_000, 100_000, 10_000_000][self.random.below(4) as usize];
        let start = self.now + 1 + self.random.below(longest);
        let stream = self.streams[self.random.below(3) as usize];
        self.machine.start(CORE, stream, start);
        assert_eq!(self.executed_by(start), before, "{name}: before its start");
    }

    /// Interrupts the stream after a while; it may end the instruction that it is at.
    fn interrupt(&mut self, name: &str) {
        let longest = [1_000, 100_000, 20_000_000][self.random.below(3) as usize];
        let asked = self.now + 1 + self.random.below(longest);
        let before: u64 = self.executed_by(asked).iter().sum();
        self.machine.interrupt(CORE, asked);
        let Stop::Interrupted { core: CORE, time } = self.machine.run_until(Picoseconds::MAX)
        else {
            panic!("{name}: the interrupt was not taken");
        };
        self.now = time;
        let after: u64 = self.executed().iter().sum();
        assert!(
            after <= before + 1,
            "{name}: {} after the interrupt",
            after - before
        );
    }

    /// Leaves the core alone for a while.
    fn rest(&mut self, name: &str) {
        let before = self.executed();
        let until = self.now + self.random.below(1_000_000);
        assert_eq!(self.executed_by(until), before, "{name}: on an idle core");
    }
}

#[test]
fn nobody_executes_before_its_start_after_its_interrupt_or_on_an_idle_core() {
    for (name, change) in variants() {
        let mut turns = Turns::new(change);
        for turn in 0..1000 {
            turns.start(name);
            turns.interrupt(name);
            if turn % 4 == 0 {
                turns.rest(name);
            }
        }
    }
}
