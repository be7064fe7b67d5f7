//! Job logs into which a program writes anything: the agent looks, answers and goes on.
#![no_main]

use std::os::unix::fs::FileExt as _;

use libfuzzer_sys::fuzz_target;
use ringfence_workloads::job_log::{Answer, JobLog, Jobs, Size};

fuzz_target!(|bytes: &[u8]| {
    let mut log = JobLog::create(Size::new(2, 4).unwrap()).unwrap();
    let path = log.path();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut thread = Jobs::open(&path).unwrap().register(0).unwrap();
    let room = file.metadata().unwrap().len();
    // The bytes lie over the log in pieces, and after each the agent has a look.
    for piece in bytes.chunks(18) {
        let (place, words) = piece.split_at(piece.len().min(2));
        let place = place
            .iter()
            .fold(0, |place, byte| place << 8 | u64::from(*byte));
        let place = place % room;
        let length = words.len().min((room - place) as usize);
        file.write_all_at(&words[..length], place).unwrap();
        thread.begin();
        let mut marks = 0;
        let drained = log.drain(|_| marks += 1);
        assert!(marks + drained.damaged <= 8 + 2);
        log.answer(|_| Answer::Accepted);
        log.reclaim();
    }
    if let Ok(jobs) = Jobs::open(&path) {
        let _ = jobs.register(1).map(|mut thread| thread.end());
    }
});
