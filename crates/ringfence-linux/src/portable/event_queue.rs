//! Events on their way from one thread to another one, whatever their priorities.
//!
//! Not a channel of the standard library: who receives from one waits, busily, while a sender is
//! between taking a place and filling it. A sender of low real-time priority that was pre-empted
//! there by the receiver itself would never come to fill it. Here neither ever waits for the other.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use rtrb::{Consumer, Producer, RingBuffer};

use crate::scheduler::Event;

/// Events that can be on their way: two in each period of a throttle thread, so that who receives
/// may be away for half a minute with periods of 1 ms.
const CAPACITY: usize = 1 << 16;

/// Where the thread that tells puts them.
#[derive(Debug)]
pub struct Teller {
    ring: Producer<Event>,
    lost: Arc<AtomicU64>,
}

/// Where the thread that hears takes them.
#[derive(Debug)]
pub struct Hearer {
    ring: Consumer<Event>,
    lost: Arc<AtomicU64>,
}

/// Both ends of a queue.
pub fn event_queue() -> (Teller, Hearer) {
    let (to, from) = RingBuffer::new(CAPACITY);
    let lost = Arc::new(AtomicU64::new(0));
    let teller = Teller {
        ring: to,
        lost: Arc::clone(&lost),
    };
    (teller, Hearer { ring: from, lost })
}

impl Teller {
    /// Never waits: an event that finds no place is lost, and counted.
    pub fn tell(&mut self, event: Event) {
        if self.ring.push(event).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }
}

impl Hearer {
    /// What was told since it was last asked; never waits.
    pub fn events(&mut self) -> impl Iterator<Item = Event> {
        std::iter::from_fn(|| self.ring.pop().ok())
    }

    /// How many events found no place so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use ringfence_workloads::cpu;

    use super::*;
    use crate::scheduler::What;
    use crate::sys;

    fn event(sequence: u64) -> Event {
        Event {
            time_ns: sequence,
            sequence,
            what: What::Throttled { cpu: 0 },
        }
    }

    #[test]
    fn events_come_in_order_and_those_without_a_place_are_counted() {
        let (mut teller, mut hearer) = event_queue();
        for round in 0..3 {
            let first = round * 100_000;
            for sequence in first..first + CAPACITY as u64 + 7 {
                teller.tell(event(sequence));
            }
            let heard: Vec<u64> = hearer.events().map(|event| event.sequence).collect();
            let expected: Vec<u64> = (first..first + CAPACITY as u64).collect();
            assert_eq!(heard, expected);
            assert_eq!(hearer.lost(), 7 * (round + 1));
        }
    }

    #[test]
    fn a_thread_hears_all_that_another_one_tells() {
        let (mut teller, mut hearer) = event_queue();
        let told = std::thread::spawn(move || {
            for sequence in 0..50_000 {
                teller.tell(event(sequence));
            }
        });
        let mut heard = Vec::new();
        while !told.is_finished() {
            heard.extend(hearer.events().map(|event| event.sequence));
        }
        heard.extend(hearer.events().map(|event| event.sequence));
        assert!(told.join().is_ok());
        assert_eq!(heard, (0..50_000).collect::<Vec<u64>>());
        assert_eq!(hearer.lost(), 0);
    }

    /// Both on one CPU: who hears comes between two instructions of who tells, again and again.
    #[test]
    fn a_teller_that_is_pre_empted_holds_nobody_up() -> io::Result<()> {
        let core = cpu::allowed()?[0];
        let (mut teller, mut hearer) = event_queue();
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let low = std::thread::spawn(move || -> io::Result<()> {
            cpu::pin(core)?;
            sys::set_class(0, libc::SCHED_FIFO, 1)?;
            while !told.load(Relaxed) {
                teller.tell(event(0));
            }
            Ok(())
        });
        let high = std::thread::spawn(move || -> io::Result<usize> {
            cpu::pin(core)?;
            sys::set_class(0, libc::SCHED_FIFO, 2)?;
            let mut heard = 0;
            for _ in 0..5_000 {
                std::thread::sleep(Duration::from_micros(20));
                heard += hearer.events().count();
            }
            Ok(heard)
        });
        let heard = high.join().expect("it does not panic");
        is_over.store(true, Relaxed);
        let ended = low.join().expect("it does not panic");
        match (heard, ended) {
            (Err(error), _) | (_, Err(error))
                if error.kind() == io::ErrorKind::PermissionDenied =>
            {
                eprintln!("skipped: no real-time priorities here");
            }
            (heard, ended) => {
                ended?;
                assert!(heard? > 0);
            }
        }
        Ok(())
    }
}
