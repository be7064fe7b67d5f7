//! A thread's marks against a plain queue, and many threads at once.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use ringfence_workloads::clock::now_ns;
use ringfence_workloads::job_log::{JobLog, JobLogError, Jobs, Kind, Size};

use super::log;

#[derive(Debug, Clone)]
enum Step {
    Mark(Kind, u64, u64),
    Drain,
    /// The thread leaves and another one takes its slot.
    Register(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (prop::sample::select(Kind::ALL.to_vec()), any::<u64>(), any::<u64>())
            .prop_map(|(kind, job, time_ns)| Step::Mark(kind, job, time_ns)),
        2 => Just(Step::Drain),
        1 => any::<u32>().prop_map(Step::Register),
    ]
}

proptest! {
    #[test]
    fn a_ring_is_a_queue_that_loses_what_does_not_fit(
        steps in prop::collection::vec(step(), 0..200),
        room in 1_u32..5,
    ) {
        let room = 1 << room;
        // One slot: who registers next gets the same one.
        let (mut log, jobs) = log(1, room);
        let mut task = 7;
        let mut thread = jobs.register(task).unwrap();
        let (mut queue, mut lost) = (VecDeque::new(), 0);
        let mut drain = |queue: &mut VecDeque<_>, lost: &mut u64, leaves: usize| {
            let mut found = Vec::new();
            let drained = log.drain(|mark| found.push((mark.task, mark.kind, mark.job, mark.time_ns)));
            assert_eq!(found, queue.drain(..).collect::<Vec<_>>());
            assert_eq!((drained.lost, drained.damaged), (std::mem::take(lost), 0));
            assert_eq!(drained.left.len(), leaves);
        };
        for step in steps {
            match step {
                Step::Mark(kind, job, time_ns) => {
                    thread.mark(kind, job, time_ns);
                    match queue.len() < room as usize {
                        true => queue.push_back((task, kind, job, time_ns)),
                        false => lost += 1,
                    }
                }
                Step::Drain => drain(&mut queue, &mut lost, 0),
                Step::Register(new) => {
                    drop(thread);
                    drain(&mut queue, &mut lost, 1);
                    task = new;
                    thread = jobs.register(task).unwrap();
                }
            }
        }
        drain(&mut queue, &mut lost, 0);
    }
}

#[test]
fn begin_and_end_count_jobs_and_read_the_clock() {
    let (mut log, jobs) = log(4, 16);
    let mut thread = jobs.register(3).unwrap();
    let before_ns = now_ns();
    for _ in 0..2 {
        thread.begin();
        thread.end();
    }
    let mut marks = Vec::new();
    log.drain(|mark| marks.push(mark));
    let what: Vec<_> = marks.iter().map(|mark| (mark.kind, mark.job)).collect();
    assert_eq!(
        what,
        [
            (Kind::Begin, 0),
            (Kind::End, 0),
            (Kind::Begin, 1),
            (Kind::End, 1)
        ]
    );
    let times: Vec<u64> = marks.iter().map(|mark| mark.time_ns).collect();
    assert!(times.is_sorted() && times[0] >= before_ns && times[3] <= now_ns());
    assert!(marks.iter().all(|mark| mark.task == 3));
    assert_eq!(marks[0].thread.process, std::process::id());
}

/// Threads mark as fast as they can while the agent takes out what there is.
#[test]
fn many_threads_lose_nothing_uncounted_and_keep_their_order() {
    const THREADS: u32 = 6;
    const MARKS: u64 = 200_000;
    let (mut log, jobs) = log(THREADS, 64);
    let is_over = AtomicBool::new(false);
    let (mut taken, mut lost, mut left) = (0, 0, 0);
    let mut next: HashMap<u32, u64> = HashMap::new();
    let mut drain = |log: &mut JobLog| {
        let drained = log.drain(|mark| {
            // The job is where the thread was, and the time follows from it.
            let expected = next.entry(mark.task).or_default();
            assert!(mark.job >= *expected, "{mark:?} after {expected}");
            assert_eq!(mark.time_ns, mark.job ^ u64::from(mark.task));
            *expected = mark.job + 1;
            taken += 1;
        });
        assert_eq!(drained.damaged, 0);
        lost += drained.lost;
        left += drained.left.len();
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|task| {
                let jobs = &jobs;
                scope.spawn(move || {
                    let mut thread = jobs.register(task).unwrap();
                    for job in 0..MARKS {
                        thread.mark(Kind::Begin, job, job ^ u64::from(task));
                    }
                })
            })
            .collect();
        let (is_over, log, drain) = (&is_over, &mut log, &mut drain);
        let reader = scope.spawn(move || {
            while !is_over.load(Ordering::SeqCst) {
                drain(log);
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        is_over.store(true, Ordering::SeqCst);
        reader.join().unwrap();
    });
    drain(&mut log);
    assert_eq!((taken + lost, left), (u64::from(THREADS) * MARKS, 6));
    assert!(taken > 0);
}

#[test]
fn a_full_log_takes_nobody_until_somebody_has_left() {
    let (mut log, jobs) = log(2, 2);
    let first = jobs.register(0).unwrap();
    let _second = jobs.register(1).unwrap();
    let full = jobs.register(2).unwrap_err();
    assert!(matches!(full, JobLogError::Full(2)), "{full}");
    drop(first);
    assert!(jobs.register(2).is_err(), "its marks are not taken yet");
    assert_eq!(log.drain(|_| ()).left.len(), 1);
    jobs.register(2).unwrap();
}

#[test]
fn without_a_log_everything_works_and_does_nothing() {
    let mut thread = Jobs::none().register(1).unwrap();
    thread.begin();
    thread.end();
    let patience = std::time::Duration::ZERO;
    thread.join_gang("slam", patience).unwrap();
    thread.leave_gang(patience).unwrap();
}

#[test]
fn what_is_no_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let missing = Jobs::open(&path).unwrap_err().to_string();
    assert!(missing.contains("No such file"), "{missing}");
    for bytes in [vec![], vec![0; 100], vec![0; 1 << 20]] {
        std::fs::write(&path, bytes).unwrap();
        let found = Jobs::open(&path).unwrap_err();
        assert!(matches!(found, JobLogError::NotALog { .. }), "{found}");
    }
    // A log whose slots are cut off.
    let (log, _) = log(4, 16);
    let whole = std::fs::read(log.path()).unwrap();
    std::fs::write(&path, &whole).unwrap();
    Jobs::open(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(Jobs::open(&path).is_err());
    for (slots, events) in [(0, 16), (1, 3), (1, 1), (1, 1 << 17), (1 << 17, 2)] {
        assert!(Size::new(slots, events).is_err(), "{slots} {events}");
    }
    assert_eq!(Size::default().slots(), 512);
}
