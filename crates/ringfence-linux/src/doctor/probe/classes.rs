//! Puts a thread of ours into each real-time class for a moment.

use super::ClassProbe;
use crate::class::Class;

/// A thread for each: one that has been in a class is not what it was.
pub fn probe() -> Vec<ClassProbe> {
    let tried = [
        ("fifo", Class::Fifo { priority: 1 }),
        ("rr", Class::RoundRobin { priority: 1 }),
        (
            "deadline",
            // Short enough to be admitted beside others.
            Class::Deadline {
                runtime_ns: 1_000_000,
                deadline_ns: 100_000_000,
                period_ns: 100_000_000,
                flags: 0,
            },
        ),
    ];
    let tried = tried.map(|(class, wanted)| {
        let thread = std::thread::spawn(move || wanted.set(0));
        let result = thread.join().expect("the thread makes one system call");
        ClassProbe {
            class,
            refusal: result.err().map(|error| error.to_string()),
        }
    });
    tried.into()
}
