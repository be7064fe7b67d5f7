//! Timer slack: how much later than asked for a thread may be woken.

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

const NAME: &str = "timer slack";

pub(super) fn check(machine: &MachineFiles) -> Check {
    match machine.number("/proc/self/timerslack_ns") {
        Some(slack_ns @ 0..=1000) => Check::new(
            NAME,
            Level::Usable,
            format!("{slack_ns} ns"),
            "threads are woken when they ask for",
        ),
        Some(slack_ns) => Check::new(
            NAME,
            Level::Usable,
            format!("{} us for threads of the normal class", slack_ns / 1000),
            "real-time threads have none, and members of a gang can be given none",
        ),
        None => Check::new(
            NAME,
            Level::Limited,
            "the system does not show it",
            "members of a gang in the normal class may be released late by some 50 us, \
             unless they set it themselves (PR_SET_TIMERSLACK)",
        )
        .remedy("a kernel from 4.6 on lets others set it"),
    }
}
