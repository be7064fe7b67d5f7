//! Programs on the board, and their memory.

use ringfence_scenario::model::{ClassOfService, LinkedLists, Program};

use super::ExactMachine;
use crate::machine::StreamId;
use crate::machine::cache::WayMask;
use crate::machine::error::MachineError;
use crate::machine::pages::{NoFrames, Region};
use crate::program::{Stream, Task};
use crate::random::SplitMix64;

impl ExactMachine {
    /// Adds a task's program; one stream per thread, in order.
    ///
    /// The threads share the task's memory. A best-effort program is endless:
    /// it starts over at its end instead of stopping there, and has no phases.
    /// Where the memory lies and what the program draws at random depends on the
    /// machine's seed and on `name`, and not on the other tasks: two runs compare
    /// like with like. Without a class of service the task may have all of the
    /// last-level cache.
    ///
    /// # Errors
    /// When the program does not fit the memory, cannot be read or is a compute program.
    pub fn add_task(
        &mut self,
        name: &str,
        program: &Program,
        threads: u16,
        is_best_effort: bool,
        class: Option<&ClassOfService>,
    ) -> Result<Vec<StreamId>, MachineError> {
        let mut random = SplitMix64::of(self.seed, name);
        let task = Task {
            threads,
            endless: is_best_effort,
            line_bytes: self.line_bytes,
            clock: self.clock,
            seed: random.next_u64(),
        };
        let sources = task.sources(program)?;
        let bytes = sources.lines * u64::from(self.line_bytes);
        let region = self.allocate(name, bytes, class, &mut random)?;
        let ways = class.map_or(WayMask::ALL, |class| WayMask(class.way_mask));
        let first = self.streams.len() as u32;
        for source in sources.threads {
            let region = region.clone();
            let mut stream = Stream::new(source, region, is_best_effort, ways, self.line_bytes);
            if let Program::LinkedLists(LinkedLists {
                bank: Some(bank),
                lists,
                ..
            }) = *program
            {
                let is_in_bank = |line| self.llc.bank_of(line) == usize::from(bank);
                stream
                    .keep(is_in_bank)
                    .map_err(|lines| MachineError::FewLinesInBank { bank, lines, lists })?;
            }
            self.streams.push(stream);
        }
        Ok((first..self.streams.len() as u32).map(StreamId).collect())
    }

    /// Memory of the task called `name`.
    fn allocate(
        &mut self,
        name: &str,
        bytes: u64,
        class: Option<&ClassOfService>,
        random: &mut SplitMix64,
    ) -> Result<Region, MachineError> {
        let colours = class.map_or(&self.all_colours[..], |class| &class.colours);
        let region = self.pages.allocate(bytes, colours, random);
        region.map_err(|NoFrames { free_bytes }| match class {
            Some(class) if colours.len() < self.all_colours.len() => MachineError::OutOfColours {
                task: name.into(),
                class: class.name.clone(),
                colours: colours.len(),
                needed_bytes: bytes,
                free_bytes,
            },
            _ => MachineError::OutOfMemory {
                task: name.into(),
                needed_bytes: bytes,
                free_bytes,
            },
        })
    }
}
