//! What the arbiter lets others see.

use super::Arbiter;
use crate::live::{Board, PartitionState, Priorities};

impl Arbiter {
    /// Puts on the board what each partition and its CPUs do.
    pub fn show(&self, board: &Board) {
        for index in 0..self.seats.len() {
            board.set_partition(index, &self.partition_state(index));
        }
        // A CPU can be of several gangs, of which one has it.
        for has_it in [false, true] {
            for state in self.gangs.iter().filter(|state| state.is_locked == has_it) {
                let priority = if has_it { state.gang.priority } else { 0 };
                for &cpu in &state.gang.cpus {
                    board.set_held(cpu, priority);
                }
            }
        }
    }

    fn partition_state(&self, index: usize) -> PartitionState {
        let mut runnable = Priorities::default();
        for state in &self.gangs {
            if state.gang.partition == index && state.runnable > 0 {
                runnable.insert(state.gang.priority);
            }
        }
        let policy = &self.seats[index].policy;
        PartitionState {
            holder: self.running(index).map_or(0, |gang| self.priority(gang)),
            runnable,
            share: policy.share_use(),
            is_exhausted: policy.is_share_exhausted(),
        }
    }
}
