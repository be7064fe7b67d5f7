//! Programs that write anything anywhere into the log.

use std::os::unix::fs::FileExt as _;

use proptest::prelude::*;
use ringfence_workloads::job_log::{Answer, Kind};

use super::log;

const SLOTS: u32 = 3;
const EVENTS: u32 = 4;

proptest! {
    /// Whatever lies there, a look takes no more than there is room for, and nothing panics.
    #[test]
    fn any_bytes_are_survived(
        writes in prop::collection::vec(
            (any::<u64>(), prop_oneof![Just(0), Just(u64::MAX), Just(1 << 63), any::<u64>(), 0..9_u64]),
            1..60,
        ),
    ) {
        let (mut log, jobs) = log(SLOTS, EVENTS);
        let file = std::fs::OpenOptions::new().write(true).open(log.path()).unwrap();
        let words = std::fs::metadata(log.path()).unwrap().len() / 8;
        let mut thread = jobs.register(1).unwrap();
        for (place, word) in writes {
            file.write_all_at(&word.to_ne_bytes(), place % words * 8).unwrap();
            thread.mark(Kind::Begin, 1, 2);
            let mut marks = 0;
            let drained = log.drain(|_| marks += 1);
            prop_assert!(marks + drained.damaged <= u64::from(SLOTS * EVENTS));
            let mut requests = 0;
            log.answer(|_| {
                requests += 1;
                Answer::Accepted
            });
            prop_assert!(requests <= SLOTS);
            log.reclaim();
        }
        // The header may say anything now; this is refused or mapped as what it says.
        if let Ok(jobs) = ringfence_workloads::job_log::Jobs::open(&log.path())
            && let Ok(mut thread) = jobs.register(2)
        {
            thread.begin();
        }
    }
}

/// Offset of a slot's word: after the header of 128 bytes.
fn slot_word(offset: u64) -> u64 {
    128 + offset
}

#[test]
fn a_forged_place_in_the_ring_is_noticed_and_the_slot_goes_on() {
    let (mut log, jobs) = log(1, 4);
    let mut thread = jobs.register(1).unwrap();
    thread.begin();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(log.path())
        .unwrap();
    file.write_all_at(&u64::MAX.to_ne_bytes(), slot_word(64))
        .unwrap();
    let drained = log.drain(|mark| panic!("{mark:?}"));
    assert_eq!(drained.damaged, 1);
    // Its own thread puts the place right; what lies between is unknown.
    thread.begin();
    log.drain(|_| ());
    thread.end();
    let mut found = Vec::new();
    log.drain(|mark| found.push(mark.kind));
    assert_eq!(found, [Kind::End]);
}

#[test]
fn an_unknown_mark_and_a_name_that_is_no_text_are_left_out() {
    let (mut log, jobs) = log(1, 4);
    let mut thread = jobs.register(1).unwrap();
    thread.begin();
    thread.end();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(log.path())
        .unwrap();
    // The first event's kind, then a request for a gang named 0xff: the agent hears of none.
    file.write_all_at(&99_u64.to_ne_bytes(), slot_word(512 + 16))
        .unwrap();
    file.write_all_at(&[0xff], slot_word(256)).unwrap();
    file.write_all_at(&2_u32.to_ne_bytes(), slot_word(192))
        .unwrap();
    let mut found = Vec::new();
    let drained = log.drain(|mark| found.push(mark.kind));
    assert_eq!((found, drained.damaged), (vec![Kind::End], 1));
    log.answer(|request| panic!("{request:?}"));
}

#[test]
fn no_program_can_shrink_the_log() {
    let (log, _jobs) = log(1, 4);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(log.path())
        .unwrap();
    assert!(file.set_len(0).is_err() && file.set_len(1 << 20).is_err());
}
