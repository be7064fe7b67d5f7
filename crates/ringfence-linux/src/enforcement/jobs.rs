//! Programs that say when their jobs begin and end, and ask for gangs (the job API).
//!
//! Each gang has a log of its own, which `ringfence exec` hands to the programs that it starts in
//! that gang: what a program writes where it must not concerns its own gang alone. A thread may ask
//! for a gang that is a member of one, or was when it first asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ringfence_target::workload::Workload;
use ringfence_workloads::job_log::{
    Answer, Drained, JobLog, JobLogError, Listener, Mark, Request, Size, ThreadId,
};

use crate::live::{Board, Releases, Tally};
use crate::scheduler::{Members, Membership};

/// Threads of each log, and the marks of each between two looks: ten for each millisecond of 100.
const SLOTS: u32 = 256;
const EVENTS: u32 = 1024;

/// Who is in which gang, and can be moved.
pub trait Memberships {
    /// Whether the thread is a member of any gang.
    fn is_member(&self, tid: i32) -> bool;
    /// Makes it a member of the gang with this index, or of none; whether that worked.
    fn join(&self, tid: i32, gang: Option<usize>) -> bool;
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
    fn is_member(&self, tid: i32) -> bool {
        let entry = self.members.entry(tid).ok().flatten();
        entry.is_some_and(|entry| entry.member.priority > 0)
    }

    fn join(&self, tid: i32, gang: Option<usize>) -> bool {
        let member = gang.map_or(Membership::default(), |gang| self.gangs[gang]);
        self.members.join(tid, member).is_ok()
    }
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
    /// Threads that have asked for a gang, and which one they were given.
    joined: BTreeMap<ThreadId, Option<usize>>,
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
                joined: BTreeMap::new(),
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

    /// Answers who asks for a gang, and counts jobs; how many marks were lost since the last time.
    pub fn follow(&mut self, memberships: &impl Memberships, board: &Board) -> u64 {
        let Self { logs, gangs, tally } = self;
        let mut lost = 0;
        for (gang, GangLog { log, joined }) in logs.iter_mut().enumerate() {
            log.reclaim();
            let drained = log.attend(&mut Attendant {
                gang,
                gangs,
                joined,
                tally,
                memberships,
                board,
            });
            lost += forget(&drained, joined);
        }
        lost
    }
}

/// Hears the programs of one gang.
struct Attendant<'a, M> {
    gang: usize,
    gangs: &'a [Named],
    joined: &'a mut BTreeMap<ThreadId, Option<usize>>,
    tally: &'a mut Tally,
    memberships: &'a M,
    board: &'a Board,
}

impl<M: Memberships> Listener for Attendant<'_, M> {
    fn mark(&mut self, mark: Mark) {
        let gang = self.joined.get(&mark.thread).copied();
        let Some(gang) = gang.unwrap_or(Some(self.gang)) else {
            return;
        };
        if let Some(task) = self.gangs[gang].task(mark.task) {
            self.board.tell_jobs(gang);
            self.tally.note(&Mark { task, ..mark }, self.board);
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
        let may_ask = self.joined.contains_key(&id) || self.memberships.is_member(tid);
        if !may_ask || !Path::new(&path).exists() || !self.memberships.join(tid, gang) {
            return Answer::Refused;
        }
        self.joined.insert(id, gang);
        Answer::Accepted
    }
}

impl Named {
    /// The number that the tally has for the gang's task `number`.
    fn task(&self, number: u32) -> Option<u32> {
        (number < self.tasks).then(|| self.first_task + number)
    }
}

/// Forgets threads that have left; how many marks were lost.
fn forget(drained: &Drained, joined: &mut BTreeMap<ThreadId, Option<usize>>) -> u64 {
    for thread in &drained.left {
        joined.remove(thread);
    }
    drained.lost + drained.damaged
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

    /// Everybody asked for is there.
    #[derive(Default)]
    struct Fake {
        is_member: bool,
        joined: RefCell<Vec<(i32, Option<usize>)>>,
    }

    impl Memberships for Fake {
        fn is_member(&self, _: i32) -> bool {
            self.is_member
        }

        fn join(&self, tid: i32, gang: Option<usize>) -> bool {
            self.joined.borrow_mut().push((tid, gang));
            true
        }
    }

    /// Lets `program` run with the log of `high`, as task `task` of it; what is told of each
    /// gang's jobs then.
    fn with_program(
        fake: &Fake,
        task: u32,
        program: impl FnOnce(job_log::ThreadJobs) + Send + 'static,
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
        let thread = std::thread::spawn(move || program(log.register(task).unwrap()));
        while !thread.is_finished() {
            jobs.follow(fake, &board);
            std::thread::sleep(Duration::from_millis(1));
        }
        thread.join().unwrap();
        jobs.follow(fake, &board);
        let contents = read_board(&board.path(), shape).unwrap().unwrap();
        let gangs = contents.gangs.into_iter();
        gangs
            .map(|gang| gang.jobs_are_told.then_some((gang.jobs, gang.misses)))
            .collect()
    }

    /// Three jobs of 2 ms.
    fn three_jobs(mut thread: job_log::ThreadJobs) {
        for job in 0..3 {
            thread.mark(Kind::Begin, job, 0);
            thread.mark(Kind::End, job, 2_000_000);
        }
    }

    #[test]
    fn jobs_are_of_the_gang_whose_log_it_is_and_of_the_task_with_that_number() {
        let told = |task| with_program(&Fake::default(), task, three_jobs);
        assert_eq!(told(0), [Some((3, 0)), None]);
        assert_eq!(told(1), [Some((3, 3)), None]);
        assert_eq!(told(2), [None, None]);
    }

    #[test]
    fn a_thread_that_has_joined_another_gang_has_its_jobs_there() {
        let fake = Fake {
            is_member: true,
            ..Fake::default()
        };
        let told = with_program(&fake, 0, |mut thread| {
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
        assert_eq!(told, [None, Some((1, 0))]);
        let asked: Vec<Option<usize>> = fake.joined.borrow().iter().map(|it| it.1).collect();
        assert_eq!(asked, [Some(1), None]);
    }

    #[test]
    fn who_was_never_a_member_may_not_ask() {
        let fake = Fake::default();
        with_program(&fake, 0, |mut thread| {
            let refused = thread.join_gang("low", Duration::from_secs(60));
            assert!(matches!(refused, Err(JobLogError::Refused(_))));
        });
        assert!(fake.joined.borrow().is_empty());
    }
}
