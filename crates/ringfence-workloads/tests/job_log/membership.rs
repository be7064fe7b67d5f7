//! Threads ask for gangs, the agent answers.

use std::time::Duration;

use ringfence_workloads::job_log::{Answer, JobLogError, Kind, Request};

use super::log;

/// Long enough for a busy machine; nothing waits for its end.
const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn the_agent_is_asked_and_its_answer_comes_back() {
    let (mut log, jobs) = log(2, 2);
    std::thread::scope(|scope| {
        let program = scope.spawn(move || {
            let mut thread = jobs.register(0).unwrap();
            thread.join_gang("slam", PATIENCE).unwrap();
            let unknown = thread.join_gang("smal", PATIENCE).unwrap_err();
            assert!(matches!(&unknown, JobLogError::UnknownGang(name) if name == "smal"));
            let refused = thread.join_gang("control", PATIENCE).unwrap_err();
            assert!(matches!(&refused, JobLogError::Refused(name) if name == "control"));
            thread.leave_gang(PATIENCE).unwrap();
        });
        let mut requests: Vec<Request> = Vec::new();
        while requests.len() < 4 {
            log.wait(PATIENCE);
            log.answer(|request| {
                let answer = match request.gang.as_deref() {
                    Some("smal") => Answer::UnknownGang,
                    Some("control") => Answer::Refused,
                    _ => Answer::Accepted,
                };
                requests.push(request);
                answer
            });
        }
        program.join().unwrap();
        let gangs: Vec<_> = requests.iter().map(|one| one.gang.as_deref()).collect();
        assert_eq!(gangs, [Some("slam"), Some("smal"), Some("control"), None]);
        assert!(requests.iter().all(|one| one.thread == requests[0].thread));
    });
}

#[test]
fn a_program_does_not_wait_for_ever_for_an_agent_that_is_gone() {
    let (mut log, jobs) = log(1, 2);
    let mut thread = jobs.register(0).unwrap();
    let nobody = thread.join_gang("slam", Duration::ZERO).unwrap_err();
    assert!(matches!(nobody, JobLogError::NoAnswer(0)), "{nobody}");
    // The next thread in the slot did not ask.
    drop(thread);
    log.drain(|_| ());
    let _next = jobs.register(0).unwrap();
    log.answer(|request| panic!("{request:?}"));
}

/// A thread that gave up may write the next name while the agent reads the last one.
#[test]
fn a_name_that_is_being_written_is_not_read() {
    let (mut log, jobs) = log(1, 2);
    let _thread = jobs.register(0).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(log.path())
        .unwrap();
    // Name and number of the request, in the slot behind the header.
    let write = |bytes: &[u8], place: u64| {
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, 128 + place).unwrap();
    };
    write(b"sl", 256);
    write(&3_u32.to_ne_bytes(), 192);
    log.answer(|request| panic!("{request:?}"));
    write(b"slam", 256);
    write(&4_u32.to_ne_bytes(), 192);
    let mut asked = None;
    log.answer(|request| {
        asked = request.gang;
        Answer::Accepted
    });
    assert_eq!(asked.as_deref(), Some("slam"));
}

#[test]
fn names_that_cannot_be_are_refused_before_anybody_is_asked() {
    let (mut log, jobs) = log(1, 2);
    let mut thread = jobs.register(0).unwrap();
    for name in ["", "a\0b", &"x".repeat(257)] {
        let found = thread.join_gang(name, Duration::ZERO).unwrap_err();
        assert!(matches!(found, JobLogError::Name(_)), "{found}");
    }
    log.answer(|request| panic!("{request:?}"));
    // The longest fits.
    let longest = "x".repeat(256);
    let _ = thread.join_gang(&longest, Duration::ZERO);
    let mut asked = None;
    log.answer(|request| {
        asked = request.gang;
        Answer::Accepted
    });
    assert_eq!(asked, Some(longest));
}

#[test]
fn sleeping_and_waking_ring_and_other_marks_do_not() {
    let (log, jobs) = log(1, 16);
    let mut thread = jobs.register(0).unwrap();
    for kind in [Kind::Runnable, Kind::Sleeping] {
        thread.mark(kind, 0, 0);
        // It would wait for minutes, were there no news.
        log.wait(PATIENCE);
    }
    for kind in [Kind::Released, Kind::Begin, Kind::End, Kind::Dropped] {
        thread.mark(kind, 0, 0);
    }
    // The doorbell's place in the file.
    let file = std::fs::File::open(log.path()).unwrap();
    let mut doorbell = [1; 4];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut doorbell, 64).unwrap();
    assert_eq!(doorbell, [0; 4], "nobody rang");
}
