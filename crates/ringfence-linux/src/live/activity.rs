//! How long each gang had its CPUs and how often each CPU was throttled, from what a scheduler
//! says that it did. Who looks may do so only when gangs let him: this is what was in between.

use ringfence_scenario::model::Gang;

use super::Board;
use crate::scheduler::{Event, What};

/// Counts it.
#[derive(Debug)]
pub struct Activity {
    /// Partition and priority of each gang.
    gangs: Vec<(usize, u8)>,
    /// By partition: the priority that runs, and until when that is counted.
    running: Vec<(u8, u64)>,
    counts_throttling: bool,
}

impl Activity {
    /// No gang runs yet. Throttling is counted only if nobody else does.
    pub fn of(gangs: &[&Gang], partitions: usize, counts_throttling: bool) -> Self {
        let gangs = gangs.iter().map(|gang| (gang.partition, gang.priority));
        Self {
            gangs: gangs.collect(),
            running: vec![(0, 0); partitions],
            counts_throttling,
        }
    }

    /// This has happened until `now_ns`; it goes to the board.
    pub fn note(&mut self, events: &[Event], now_ns: u64, board: &Board) {
        let mut in_order: Vec<&Event> = events.iter().collect();
        in_order.sort_by_key(|event| event.sequence);
        for event in in_order {
            match event.what {
                What::GangActive {
                    partition,
                    priority,
                } => {
                    let partition = partition as usize;
                    self.advance(partition, event.time_ns, board);
                    if let Some((running, _)) = self.running.get_mut(partition) {
                        *running = priority as u8;
                    }
                }
                What::Throttled { cpu } if self.counts_throttling => board.count_throttled(cpu),
                _ => {}
            }
        }
        for partition in 0..self.running.len() {
            self.advance(partition, now_ns, board);
        }
    }

    fn advance(&mut self, partition: usize, until_ns: u64, board: &Board) {
        let Some((priority, from_ns)) = self.running.get_mut(partition) else {
            return;
        };
        let ran_ns = until_ns.saturating_sub(*from_ns);
        *from_ns = until_ns.max(*from_ns);
        for (gang, place) in self.gangs.iter().enumerate() {
            if *place == (partition, *priority) {
                board.add_active_ns(gang, ran_ns);
            }
        }
    }
}
