//! Programs that say when their jobs begin and end, and ask for gangs (the job API).
//!
//! Each gang has a log of its own, which `ringfence exec` hands to the programs that it starts in
//! that gang. What a program writes where it must not concerns threads of its own gang: a thread may
//! ask that is a member of the log's gang, or has been moved by the same log before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ringfence_target::workload::Workload;
use ringfence_workloads::job_log::{
    Answer, JobLog, JobLogError, Kind, Listener, Mark, Request, Size, ThreadId,
};

use crate::live::{Board, Releases, Tally};
use crate::scheduler::{self, Members, Membership};
use crate::thread::Thread;

/// Threads of each log, and the marks of each between two looks: four for each millisecond of the
/// second for which gangs can keep this process waiting.
const SLOTS: u32 = 256;
const EVENTS: u32 = 4096;

/// Who is in which gang, and can be moved.
pub trait Memberships {
    /// Whether the thread is a member of the gang with this index.
    fn is_member(&self, tid: i32, gang: usize) -> bool;
    /// Makes it a member of the gang with this index, or of none.
    ///
    /// # Errors
    /// It is a member of what it was before.
    fn join(&self, tid: i32, gang: Option<usize>) -> Result<(), scheduler::Error>;
}

/// The real ones.
#[derive(Debug)]
pub struct OfScheduler {
    members: Members,
    gangs: Vec<Membership>,
}

impl OfScheduler {
    /// Those of `members`, with gangs by index.
    pub fn new(members: Members, gangs: Vec<Membership>) -> Self {
        Self { members, gangs }
    }
}

impl Memberships for OfScheduler {
    fn is_member(&self, tid: i32, gang: usize) -> bool {
        let entry = self.members.entry(tid).ok().flatten();
        entry.is_some_and(|entry| entry.member == self.gangs[gang])
    }

    fn join(&self, tid: i32, gang: Option<usize>) -> Result<(), scheduler::Error> {
        let member = gang.map_or(Membership::default(), |gang| self.gangs[gang]);
        self.members.join(tid, member)
    }
}

/// What a look at a log has shown.
#[derive(Debug, Default)]
pub struct Followed {
    /// Marks that found no room, or made no sense.
    pub lost_marks: u64,
    /// Why threads could not be moved that had the right to it.
    pub not_joined: Vec<scheduler::Error>,
}

/// The logs of all gangs.
#[derive(Debug)]
pub struct Jobs {
    logs: Vec<GangLog>,
    gangs: Vec<Named>,
    tally: Tally,
}

/// A gang, and its tasks as the tally numbers them.
#[derive(Debug)]
struct Named {
    name: String,
    first_task: u32,
    tasks: u32,
}

#[derive(Debug)]
struct GangLog {
    log: JobLog,
    joined: Joined,
}

/// Threads that a log has moved, and the gang that each was given.
#[derive(Debug, Default)]
struct Joined(BTreeMap<ThreadId, (Thread, Option<usize>)>);

impl Joined {
    /// The gang of a thread of this log, if that is not the log's own.
    fn of(&self, id: ThreadId) -> Option<Option<usize>> {
        self.0.get(&id).map(|&(_, gang)| gang)
    }

    /// Whether it has moved this very thread, and not one that had its number before.
    fn has(&self, id: ThreadId, thread: Thread) -> bool {
        self.0.get(&id).is_some_and(|&(moved, _)| moved == thread)
    }

    fn insert(&mut self, id: ThreadId, thread: Thread, gang: Option<usize>) {
        self.0.insert(id, (thread, gang));
        // A program can hide that a thread has ended.
        if self.0.len() > SLOTS as usize {
            self.0
                .retain(|_, (thread, _)| thread.lives_below(Path::new("/")));
        }
    }
}

impl Jobs {
    /// Makes a log for each gang.
    ///
    /// # Errors
    /// There is no memory for one.
    pub fn create(workload: &Workload<'_>) -> Result<Self, JobLogError> {
        let mut first_task = 0;
        let gangs = workload.gangs.iter().map(|gang| {
            let tasks = gang.tasks.len() as u32;
            first_task += tasks;
            Named {
                name: gang.name.clone(),
                first_task: first_task - tasks,
                tasks,
            }
        });
        let gangs: Vec<Named> = gangs.collect();
        let size = Size::new(SLOTS, EVENTS)?;
        let log = |_: &Named| {
            Ok(GangLog {
                log: JobLog::create(size)?,
                joined: Joined::default(),
            })
        };
        Ok(Self {
            logs: gangs.iter().map(log).collect::<Result<_, JobLogError>>()?,
            gangs,
            tally: Tally::of(workload, Releases::Perhaps),
        })
    }

    /// Where programs find the log of each gang, as long as this process lives.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.logs.iter().map(|log| log.log.path()).collect()
    }

    /// How many logs there are, one for each gang.
    pub fn count(&self) -> usize {
        self.logs.len()
    }

    /// Answers who asks in the log of `gang`, and counts its jobs.
    pub fn follow(
        &mut self,
        gang: usize,
        memberships: &impl Memberships,
        board: &Board,
    ) -> Followed {
        let GangLog { log, joined } = &mut self.logs[gang];
        log.reclaim();
        let mut attendant = Attendant {
            gang,
            gangs: &self.gangs,
            joined,
            memberships,
            marks: Vec::new(),
            not_joined: Vec::new(),
        };
        let drained = log.attend(&mut attendant);
        let Attendant {
            marks, not_joined, ..
        } = attendant;
        // What one thread says of a job before another one ends it can come after that.
        let (ends, others): (Vec<_>, Vec<_>) = marks
            .into_iter()
            .partition(|(_, mark)| mark.kind == Kind::End);
        for (gang, mark) in others.into_iter().chain(ends) {
            board.tell_jobs(gang);
            self.tally.note(&mark, board);
        }
        for thread in &drained.left {
            self.logs[gang].joined.0.remove(thread);
        }
        Followed {
            lost_marks: drained.lost.saturating_add(drained.damaged),
            not_joined,
        }
    }
}

/// Hears the programs of one gang.
struct Attendant<'a, M> {
    gang: usize,
    gangs: &'a [Named],
    joined: &'a mut Joined,
    memberships: &'a M,
    /// What was said, with the gang that it is of and the tally's number of the task.
    marks: Vec<(usize, Mark)>,
    not_joined: Vec<scheduler::Error>,
}

impl<M: Memberships> Listener for Attendant<'_, M> {
    fn mark(&mut self, mark: Mark) {
        let Some(gang) = self.joined.of(mark.thread).unwrap_or(Some(self.gang)) else {
            return;
        };
        if let Some(task) = self.gangs[gang].task(mark.task) {
            self.marks.push((gang, Mark { task, ..mark }));
        }
    }

    fn request(&mut self, request: Request) -> Answer {
        let gang = match &request.gang {
            None => None,
            Some(name) => match self.gangs.iter().position(|gang| &gang.name == name) {
                None => return Answer::UnknownGang,
                found => found,
            },
        };
        let id = request.thread;
        let tid = id.thread.cast_signed();
        let path = format!("/proc/{}/task/{}", id.process, id.thread);
        let Some(thread) = Thread::find(tid).filter(|_| Path::new(&path).exists()) else {
            return Answer::Refused;
        };
        if !self.joined.has(id, thread) && !self.memberships.is_member(tid, self.gang) {
            return Answer::Refused;
        }
        match self.memberships.join(tid, gang) {
            Ok(()) => {
                self.joined.insert(id, thread, gang);
                Answer::Accepted
            }
            Err(error) => {
                self.not_joined.push(error);
                Answer::Refused
            }
        }
    }
}

impl Named {
    /// The number that the tally has for the gang's task `number`.
    fn task(&self, number: u32) -> Option<u32> {
        (number < self.tasks).then(|| self.first_task + number)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use ringfence_scenario::model::Scenario;
    use ringfence_workloads::job_log::{self, Kind};

    use super::*;
    use crate::live::{Shape, read_board};

    /// Gangs `high`, of two tasks, and `low`.
    const SCENARIO: &str = r#"
        [scenario]
        name = "car"
        description = "Three tasks"
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
        name = "calm"
        period = "100 ms"
        cores = "0"
        program = { kind = "compute", time = "1 ms" }
        [[gang.task]]
        name = "hasty"
        period = "100 ms"
        deadline = "1 ms"
        cores = "1"
        program = { kind = "compute", time = "1 ms" }
        [[gang]]
        name = "low"
        priority = 20
        [[gang.task]]
        name = "low"
        period = "100 ms"
        cores = "0"
        program = { kind = "compute", time = "1 ms" }
        [[case]]
        name = "rt-gang"
    "#;

    fn scenario() -> Scenario {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("car.toml");
        std::fs::write(&path, SCENARIO).unwrap();
        ringfence_scenario::load(&path).unwrap()
    }

    /// Threads of the gang `of`.
    #[derive(Default)]
    struct Fake {
        of: Option<usize>,
        joined: RefCell<Vec<Option<usize>>>,
    }

    impl Memberships for Fake {
        fn is_member(&self, _: i32, gang: usize) -> bool {
            self.of == Some(gang)
        }

        fn join(&self, _: i32, gang: Option<usize>) -> Result<(), scheduler::Error> {
            self.joined.borrow_mut().push(gang);
            Ok(())
        }
    }

    /// Lets `program` run with the log of `high`; what is told of each gang's jobs then.
    fn with_program(
        fake: &Fake,
        program: impl FnOnce(&job_log::Jobs) + Send + 'static,
    ) -> Vec<Option<(u64, u64)>> {
        let scenario = scenario();
        let workload = Workload::new(&scenario, &scenario.cases[0]).unwrap();
        let mut jobs = Jobs::create(&workload).unwrap();
        let shape = Shape {
            partitions: 1,
            cpus: 2,
            gangs: 2,
        };
        let board = Board::create(shape).unwrap();
        let log = job_log::Jobs::open(&jobs.paths()[0]).unwrap();
        let thread = std::thread::spawn(move || program(&log));
        while !thread.is_finished() {
            jobs.follow(0, fake, &board);
            std::thread::sleep(Duration::from_millis(1));
        }
        thread.join().unwrap();
        jobs.follow(0, fake, &board);
        let contents = read_board(&board.path(), shape).unwrap().unwrap();
        let gangs = contents.gangs.into_iter();
        gangs
            .map(|gang| gang.jobs_are_told.then_some((gang.jobs, gang.misses)))
            .collect()
    }

    /// Three jobs of 2 ms.
    fn three_jobs(log: &job_log::Jobs, task: u32) {
        let mut thread = log.register(task).unwrap();
        for job in 0..3 {
            thread.mark(Kind::Begin, job, 0);
            thread.mark(Kind::End, job, 2_000_000);
        }
    }

    #[test]
    fn jobs_are_of_the_gang_whose_log_it_is_and_of_the_task_with_that_number() {
        let told = |task| with_program(&Fake::default(), move |log| three_jobs(log, task));
        assert_eq!(told(0), [Some((3, 0)), None]);
        assert_eq!(told(1), [Some((3, 3)), None]);
        assert_eq!(told(2), [None, None]);
    }

    /// What it is of after the first time does not matter.
    #[test]
    fn a_thread_that_has_joined_another_gang_has_its_jobs_there() {
        let fake = Fake {
            of: Some(0),
            ..Fake::default()
        };
        let told = with_program(&fake, |log| {
            let mut thread = log.register(0).unwrap();
            thread.begin();
            thread.end();
            thread.join_gang("low", Duration::from_secs(60)).unwrap();
            thread.begin();
            thread.end();
            thread.leave_gang(Duration::from_secs(60)).unwrap();
            // Of no gang, so it counts for none.
            thread.begin();
            thread.end();
            let unknown = thread.join_gang("middle", Duration::from_secs(60));
            assert!(matches!(unknown, Err(JobLogError::UnknownGang(_))));
        });
        assert_eq!(told, [Some((1, 0)), Some((1, 0))]);
        assert_eq!(*fake.joined.borrow(), [Some(1), None]);
    }

    /// A program can write any number into its log.
    #[test]
    fn a_log_moves_members_of_its_own_gang_only() {
        for of in [None, Some(1)] {
            let fake = Fake {
                of,
                ..Fake::default()
            };
            with_program(&fake, |log| {
                let mut thread = log.register(0).unwrap();
                let refused = thread.join_gang("high", Duration::from_secs(60));
                assert!(matches!(refused, Err(JobLogError::Refused(_))));
            });
            assert!(fake.joined.borrow().is_empty());
        }
    }

    #[test]
    fn a_thread_with_a_number_that_another_one_had_was_not_moved() {
        let (mut joined, now) = (Joined::default(), Thread::this_process());
        let id = ThreadId {
            process: now.tid.cast_unsigned(),
            thread: now.tid.cast_unsigned(),
        };
        let before = Thread {
            start_ticks: now.start_ticks + 1,
            ..now
        };
        joined.insert(id, before, Some(1));
        assert!(joined.has(id, before) && !joined.has(id, now));
        // Those that have ended are forgotten when there are many.
        for thread in 1..=SLOTS {
            joined.insert(ThreadId { process: 0, thread }, before, None);
        }
        assert!(joined.0.is_empty());
    }

    /// A dispatcher that registered later releases the jobs of a worker.
    #[test]
    fn a_release_counts_also_if_another_thread_tells_it() {
        let told = with_program(&Fake::default(), |log| {
            let mut worker = log.register(0).unwrap();
            let (tell, released) = std::sync::mpsc::channel();
            let log = log.clone();
            std::thread::spawn(move || {
                let mut dispatcher = log.register(0).unwrap();
                for job in 0..300 {
                    dispatcher.mark(Kind::Released, job, 0);
                    tell.send(job).unwrap();
                }
            });
            for job in released {
                worker.mark(Kind::Begin, job, 200_000_000);
                worker.mark(Kind::End, job, 200_000_001);
            }
        });
        assert_eq!(told, [Some((300, 300)), None]);
    }
}
