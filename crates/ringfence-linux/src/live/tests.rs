//! Boards, files and snapshots, without anybody who enforces.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use proptest::prelude::*;
use ringfence_policy::CpuSet;
use ringfence_policy::gang::{self, Decision, ShareUse};
use ringfence_scenario::model::{Gang, Scenario};
use ringfence_target::workload::Workload;
use ringfence_workloads::job_log::{Kind, Mark, ThreadId};

use rustix::fs::MemfdFlags;

use super::board::{self, Contents, CpuContents, GangContents};
use super::published::NAME;
use super::snapshot::{GangState, Mode, Snapshot};
use super::*;
use crate::scheduler::{Event, What};
use crate::thread::Thread;

const SHAPE: Shape = Shape {
    partitions: 2,
    cpus: 3,
    gangs: 2,
};

fn board() -> Board {
    Board::create(SHAPE).unwrap()
}

fn contents(board: &Board) -> Contents {
    board::read(&board.path(), board.shape()).unwrap().unwrap()
}

fn gang(jobs: u64, misses: u64, active_ns: u64) -> GangContents {
    GangContents {
        jobs,
        misses,
        active_ns,
        jobs_are_told: false,
    }
}

fn any_partition() -> impl Strategy<Value = PartitionState> {
    let numbers = (any::<u8>(), any::<u128>(), any::<[u64; 3]>(), any::<bool>());
    numbers.prop_map(
        |(holder, runnable, times_ns, is_exhausted)| PartitionState {
            holder,
            runnable: Priorities(runnable),
            share: ShareUse {
                window_start_ns: times_ns[0],
                seen_ns: times_ns[1],
                used_ns: times_ns[2],
            },
            is_exhausted,
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        partitions in prop::collection::vec(any_partition(), 2),
        held in any::<[u8; 3]>(),
        allowed_ns in prop::option::of(0..u64::MAX),
    ) {
        let board = board();
        board.write(|board| {
            for (index, state) in partitions.iter().enumerate() {
                board.set_partition(index, state);
            }
            for (cpu, &priority) in (0..).zip(&held) {
                board.set_held(cpu, priority);
            }
        });
        board.set_allowed_ns(allowed_ns);
        board.set_throttled(1, true);
        for _ in 0..3 {
            board.count_throttled(2);
            board.count_job(1);
        }
        board.count_miss(0);
        board.add_active_ns(1, 3);
        board.add_active_ns(1, 4);
        let cpu = |cpu: usize, is_throttled, times_throttled| CpuContents {
            held: held[cpu],
            is_throttled,
            times_throttled,
        };
        let expected = Contents {
            partitions,
            cpus: vec![cpu(0, false, 0), cpu(1, true, 0), cpu(2, false, 3)],
            gangs: vec![gang(0, 1, 0), gang(3, 0, 7)],
            allowed_ns,
        };
        prop_assert_eq!(contents(&board), expected);
    }

    /// Used time is what the policy would say if it were asked now.
    #[test]
    fn time_that_was_not_counted_yet_is_used(
        starts_ns in prop::collection::vec(1..300_u64, 0..8),
        late_ns in 0..400_u64,
    ) {
        let window_ns = 100;
        let share = gang::ShareLimit::Limited { limit_ns: 99, window_ns };
        let mut cpus = CpuSet::new();
        cpus.insert(0);
        let mut policy = gang::Partition::new(&cpus, share, 0).unwrap();
        let (mut now_ns, mut holder) = (0, 0);
        policy.runnable(7);
        for after_ns in starts_ns {
            now_ns += after_ns;
            policy.timer(now_ns);
            if holder > 0 {
                policy.stopping(0, now_ns);
                holder = 0;
            } else if policy.decide(0, 7) == Decision::Run {
                policy.running(0, 7, now_ns);
                holder = 7;
            }
        }
        let state = PartitionState { holder, share: policy.share_use(), ..Default::default() };
        now_ns += late_ns;
        policy.timer(now_ns);
        prop_assert_eq!(state.share_used_ns(window_ns, now_ns), policy.share_use().used_ns);
    }

    /// Whatever the file holds, looking is an error and nothing worse.
    #[test]
    fn a_file_of_anything_is_an_error(text in any::<String>(), format in any::<u32>()) {
        let folder = tempfile::tempdir().unwrap();
        for text in [text, format!("{{\"format\":{format}}}")] {
            fs::write(folder.path().join(NAME), text).unwrap();
            let is_refused = matches!(find(folder.path()), Err(LiveError::Content { .. }));
            prop_assert!(is_refused);
        }
    }
}

/// The writer changes all numbers of a partition at a time, as fast as it can.
#[test]
fn what_is_written_as_a_whole_is_read_as_a_whole() {
    let board = board();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..u64::MAX).take_while(|_| !ends.load(Relaxed)) {
                let state = PartitionState {
                    share: ShareUse {
                        window_start_ns: number,
                        seen_ns: number,
                        used_ns: number,
                    },
                    ..PartitionState::default()
                };
                board.write(|board| {
                    board.set_partition(0, &state);
                    board.set_partition(1, &state);
                });
            }
        });
        let mut torn = 0;
        for _ in 0..20_000 {
            // One that never holds still is no answer, which is allowed.
            if let Some(contents) = board::read(&board.path(), SHAPE).unwrap() {
                let [first, second] = contents.partitions[..] else {
                    unreachable!("there are two");
                };
                let share = first.share;
                let is_whole = first == second && share.window_start_ns == share.used_ns;
                torn += u32::from(!is_whole);
            }
        }
        ends.store(true, Relaxed);
        assert_eq!(torn, 0);
    });
}

/// As if its writer had been stopped for good in between: the reader ends, and the writer was
/// never asked to wait.
#[test]
fn a_board_that_is_being_written_is_not_read() {
    let board = board();
    board.write(|board| {
        assert_eq!(board::read(&board.path(), SHAPE).unwrap(), None);
    });
    assert!(board::read(&board.path(), SHAPE).unwrap().is_some());
}

#[test]
fn nobody_else_writes_or_shrinks_a_board() {
    let board = board();
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(board.path())
        .unwrap();
    file.set_len(8).unwrap_err();
    std::os::unix::fs::FileExt::write_at(&file, &[1; 8], 8).unwrap_err();
    contents(&board);
}

#[test]
fn what_is_no_board_is_not_read() {
    let board = board();
    let larger = Shape { gangs: 9, ..SHAPE };
    board::read(&board.path(), larger).unwrap_err();
    // It could be shrunk while it is read.
    let unsealed = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
    let bytes = fs::metadata(board.path()).unwrap().len();
    rustix::fs::ftruncate(&unsealed, bytes).unwrap();
    let path = format!("/proc/self/fd/{}", unsealed.as_raw_fd());
    board::read(Path::new(&path), SHAPE).unwrap_err();
    let path = board.path();
    drop(board);
    board::read(&path, SHAPE).unwrap_err();
}

const SCENARIO: &str = r#"
    [scenario]
    name = "car"
    description = "Two gangs"
    duration = "1 s"
    [platform]
    name = "two-cores"
    description = "Two cores that measure time only"
    cores = 2
    frequency = "1 GHz"
    [platform.os]
    context_switch = "0 ns"
    interrupt = "0 ns"
    reschedule_latency = "0 ns"
    tick = "1 ms"
    [[gang]]
    name = "high"
    priority = 30
    [[gang.task]]
    name = "high"
    period = "100 ms"
    deadline = "50 ms"
    cores = "0"
    program = { kind = "compute", time = "5 ms" }
    [[gang]]
    name = "low"
    priority = 20
    tolerance = "none"
    [[gang.task]]
    name = "low"
    period = "400 ms"
    threads = 2
    cores = "0-1"
    program = { kind = "compute", time = "150 ms" }
    [[case]]
    name = "rt-gang"
    regulation = true
"#;

fn scenario() -> Scenario {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("car.toml");
    fs::write(&path, SCENARIO).unwrap();
    ringfence_scenario::load(&path).unwrap()
}

/// Lets `test` publish the scenario's only case.
fn published(test: impl FnOnce(&Subject<'_>, Arc<Board>, &Path)) {
    let scenario = scenario();
    let gangs: Vec<&Gang> = scenario.gangs.iter().collect();
    let subject = Subject {
        scenario: &scenario,
        case: &scenario.cases[0],
        gangs: &gangs,
    };
    let board = Arc::new(Board::create(subject.shape()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    test(&subject, board, folder.path());
}

#[test]
fn what_the_agent_writes_is_seen() {
    published(|subject, board, folder| {
        let _publication = Publication::publish(folder, subject, &board, None).unwrap();
        let mut runnable = Priorities::default();
        runnable.insert(20);
        runnable.insert(30);
        let state = PartitionState {
            holder: 30,
            runnable,
            ..PartitionState::default()
        };
        board.write(|board| {
            board.set_partition(0, &state);
            board.set_held(0, 30);
        });
        board.tell_jobs(0);
        board.tell_jobs(1);
        board.count_job(1);
        board.set_allowed_ns(Some(5));
        board.set_throttled(1, true);
        board.count_throttled(1);
        let seen = find(folder).unwrap();
        let names = (seen.scenario.as_str(), seen.case.as_str(), seen.mode);
        assert_eq!(names, ("car", "rt-gang", Mode::Portable));
        assert_eq!(seen.partitions[0].active_gangs, ["high"]);
        assert_eq!(seen.partitions[0].blocked_gangs, ["low"]);
        assert_eq!(seen.cpus[0].held_by, ["high"]);
        assert_eq!(seen.cpus[1].held_by, [] as [String; 0]);
        let best_effort = seen.cpus[1].best_effort.clone().unwrap();
        assert!(best_effort.is_throttled);
        assert_eq!(best_effort.times_throttled, 1);
        // The agent does not count what is used.
        assert_eq!(best_effort.budgets[0].used, None);
        assert_eq!(best_effort.budgets[0].budget, Some(5));
        let gangs = seen.gangs.iter().map(|gang| (gang.state, gang.jobs));
        let expected = [(GangState::Active, Some(0)), (GangState::Blocked, Some(1))];
        assert_eq!(gangs.collect::<Vec<_>>(), expected);
    });
}

#[test]
fn what_nobody_tells_is_not_made_up() {
    published(|subject, board, folder| {
        let _publication = Publication::publish(folder, subject, &board, None).unwrap();
        let seen = find(folder).unwrap();
        for gang in seen.gangs {
            assert_eq!((gang.jobs, gang.deadline_misses), (None, None));
        }
    });
}

#[test]
fn what_another_version_published_is_refused() {
    published(|subject, board, folder| {
        let _publication = Publication::publish(folder, subject, &board, None).unwrap();
        let path = folder.join(NAME);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"format\": 2", "\"format\": 3")).unwrap();
        let refused = find(folder).unwrap_err().to_string();
        assert!(refused.contains("found format 3, expected"), "{refused}");
    });
}

#[test]
fn what_one_left_that_was_killed_is_replaced() {
    published(|subject, board, folder| {
        let path = folder.join(NAME);
        let first = Publication::publish(folder, subject, &board, None).unwrap();
        let killed = fs::read_to_string(&path).unwrap().replace(
            &format!("\"tid\": {}", Thread::this_process().tid),
            "\"tid\": 4194305",
        );
        fs::write(&path, &killed).unwrap();
        assert!(matches!(find(folder), Err(LiveError::Nothing)));
        let second = Publication::publish(folder, subject, &board, None).unwrap();
        find(folder).unwrap();
        drop(second);
        assert!(matches!(find(folder), Err(LiveError::Nothing)));
        assert!(!path.exists());
        // What somebody else says stays.
        fs::write(&path, &killed).unwrap();
        drop(first);
        assert!(path.exists());
    });
}

const MS: u64 = 1_000_000;

/// Tells a tally what a thread of a process says, and answers jobs and misses of both gangs.
fn tally(releases: Releases) -> impl FnMut(u32, u32, Kind, u64, u64) -> Vec<(u64, u64)> {
    let scenario = scenario();
    let workload = Workload::new(&scenario, &scenario.cases[0]).unwrap();
    let mut tally = Tally::of(&workload, releases);
    let board = board();
    move |process, task, kind, job, time_ns| {
        let thread = ThreadId { process, thread: 1 };
        let mark = Mark {
            thread,
            time_ns,
            kind,
            task,
            job,
        };
        tally.note(&mark, &board);
        let gangs = contents(&board).gangs.into_iter();
        gangs.map(|gang| (gang.jobs, gang.misses)).collect()
    }
}

#[test]
fn a_job_ends_with_its_last_thread_and_counts_once() {
    let mut note = tally(Releases::Told);
    note(1, 0, Kind::Released, 0, 0);
    note(1, 0, Kind::Begin, 0, 1);
    assert_eq!(note(1, 0, Kind::End, 0, 50 * MS), [(1, 0), (0, 0)]);
    // A thread can be read before the one that tells of the release.
    note(1, 0, Kind::Begin, 1, 100 * MS);
    note(1, 0, Kind::End, 1, 151 * MS);
    assert_eq!(note(1, 0, Kind::Released, 1, 100 * MS), [(2, 1), (0, 0)]);
    note(1, 1, Kind::Released, 0, 0);
    assert_eq!(note(1, 1, Kind::End, 0, 401 * MS), [(2, 1), (0, 0)]);
    assert_eq!(note(1, 1, Kind::End, 0, 300 * MS), [(2, 1), (1, 1)]);
    note(1, 1, Kind::Released, 1, 400 * MS);
    assert_eq!(note(1, 1, Kind::Dropped, 1, 400 * MS), [(2, 1), (1, 2)]);
    assert_eq!(note(1, 9, Kind::End, 0, 0), [(2, 1), (1, 2)]);
}

#[test]
fn a_program_that_tells_no_releases_is_judged_from_the_begin_on() {
    let mut note = tally(Releases::Perhaps);
    note(1, 0, Kind::Begin, 0, 1000 * MS);
    assert_eq!(note(1, 0, Kind::End, 0, 1050 * MS), [(1, 0), (0, 0)]);
    note(1, 0, Kind::Begin, 1, 1100 * MS);
    assert_eq!(note(1, 0, Kind::End, 1, 1151 * MS), [(2, 1), (0, 0)]);
    // Told, it is the release that counts.
    note(1, 0, Kind::Released, 2, 1100 * MS);
    note(1, 0, Kind::Begin, 2, 1149 * MS);
    assert_eq!(note(1, 0, Kind::End, 2, 1151 * MS), [(3, 2), (0, 0)]);
    // Two processes have jobs of the same numbers; the first of their threads to begin counts.
    note(1, 1, Kind::Begin, 0, 0);
    note(2, 1, Kind::Begin, 0, 0);
    note(1, 1, Kind::End, 0, 300 * MS);
    assert_eq!(note(2, 1, Kind::End, 0, 300 * MS), [(3, 2), (0, 0)]);
    note(1, 1, Kind::Begin, 0, 299 * MS);
    assert_eq!(note(1, 1, Kind::End, 0, 401 * MS), [(3, 2), (1, 1)]);
}

/// A job that was killed never ends: of these, not more and more are kept.
#[test]
fn jobs_that_never_end_are_forgotten() {
    let mut note = tally(Releases::Perhaps);
    for job in 0..5000 {
        note(1, 1, Kind::Begin, job, 0);
    }
    // Nobody knows any more when it began.
    note(1, 1, Kind::End, 0, 1);
    assert_eq!(note(1, 1, Kind::End, 0, 1), [(0, 0), (0, 0)]);
    note(1, 1, Kind::End, 4999, 401 * MS);
    assert_eq!(note(1, 1, Kind::End, 4999, 401 * MS), [(0, 0), (1, 1)]);
}

#[test]
fn a_snapshot_is_the_same_after_json() {
    published(|subject, board, folder| {
        let _publication = Publication::publish(folder, subject, &board, None).unwrap();
        let mut seen = find(folder).unwrap();
        seen.gangs[0].jobs = Some(u64::MAX);
        seen.gangs[0].name = "\"quoted\"\n\u{fffd}".into();
        let text = serde_json::to_string(&seen).unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), seen);
    });
}

#[test]
fn the_time_of_a_gang_is_counted_also_while_it_goes_on() {
    let scenario = scenario();
    let gangs: Vec<&Gang> = scenario.gangs.iter().collect();
    let board = board();
    let mut activity = Activity::of(&gangs, 1, true);
    let event = |time_ns, sequence, what| Event {
        time_ns,
        sequence,
        what,
    };
    let active = |time_ns, sequence, priority| {
        let partition = 0;
        event(
            time_ns,
            sequence,
            What::GangActive {
                partition,
                priority,
            },
        )
    };
    let mut note = |events: &[Event], now_ns| {
        activity.note(events, now_ns, &board);
        let contents = contents(&board);
        let times_ns = contents.gangs.iter().map(|gang| gang.active_ns);
        (
            times_ns.collect::<Vec<_>>(),
            contents.cpus[1].times_throttled,
        )
    };
    assert_eq!(note(&[], 100), (vec![0, 0], 0));
    // They can come in another order than they were decided in.
    let throttled = event(111, 2, What::Throttled { cpu: 1 });
    let events = [active(130, 3, 30), throttled, active(110, 1, 20)];
    assert_eq!(note(&events, 150), (vec![20, 20], 1));
    assert_eq!(note(&[], 160), (vec![30, 20], 1));
    // What comes late is counted once.
    assert_eq!(note(&[active(155, 4, 30)], 200), (vec![70, 20], 1));
    assert_eq!(note(&[active(199, 5, 0)], 300), (vec![70, 20], 1));
}
