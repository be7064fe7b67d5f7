//! The agent: a thread above all gangs that stops them and lets them go on.
//!
//! It takes orders from a pipe and tells through a queue that it alone writes to. It never
//! waits for a lock: whoever holds one may be kept from its CPU by a gang.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ringfence_policy::regulator::{Budget, Domain};
use ringfence_workloads::clock;

use super::arbiter::{Action, Arbiter};
use super::event_queue::{Hearer, Teller, event_queue};
use super::freezer::Group;
use super::hand_over::HandOvers;
use super::news::{News, Source};
use super::throttle::Level;
use crate::live::Board;
use crate::scheduler::{Event, What};
use crate::sys;

/// Priority of the agent in SCHED_FIFO, above all gangs.
pub const PRIORITY: i32 = 99;
/// How long what the kernel did not tell can stay unseen.
const LOOK_NS: u64 = 1_000_000;

/// It is longer where a look takes long: the agent comes before all else on its core, and looks are to
/// take no more than a tenth of it.
const LOOK_COSTS_TIMES: u64 = 10;

/// What the agent works with.
pub struct Equipment {
    /// Who decides.
    pub arbiter: Arbiter,
    /// Groups of the gangs, by their index there.
    pub groups: Arc<Vec<Group>>,
    /// What members do.
    pub source: Source,
    /// Who throttles best-effort work, and what each gang tolerates.
    pub regulation: Option<Regulation>,
    /// Order of all that is told.
    pub sequence: Arc<AtomicU64>,
    /// How many partitions there are.
    pub partitions: usize,
    /// Where others see what it decides.
    pub board: Arc<Board>,
}

/// Best-effort work is throttled while gangs run.
pub struct Regulation {
    /// The domain of all cores.
    pub domain: Domain,
    /// What each gang tolerates, by its index.
    pub tolerances: Vec<Budget>,
    /// Who does it.
    pub level: Level,
}

/// A thread was runnable and its gang stopped, from one time to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The thread.
    pub tid: i32,
    /// From then.
    pub from_ns: u64,
    /// To then.
    pub to_ns: u64,
}

/// What it did.
#[derive(Debug, Default)]
pub struct Report {
    /// How long hand-overs took.
    pub hand_overs: HandOvers,
    /// Who was kept from running.
    pub held: Vec<Held>,
}

/// A thread that becomes a member.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Its process.
    pub process: i32,
    /// The thread.
    pub tid: i32,
    /// Index of its gang.
    pub gang: usize,
    /// The CPU that it never leaves.
    pub pinned_to: Option<u16>,
}

/// The agent, until it is dropped.
pub struct Agent {
    /// `None` when it is to end.
    orders: Option<PipeWriter>,
    answers: Receiver<io::Result<()>>,
    events: Hearer,
    thread: Option<JoinHandle<io::Result<Report>>>,
}

impl Agent {
    /// Starts it.
    ///
    /// # Errors
    /// It is not allowed, or the ring cannot be read.
    pub fn start(equipment: Equipment) -> io::Result<Self> {
        let (read, orders) = io::pipe()?;
        let (answer, answers) = channel();
        let (tell, events) = event_queue();
        let builder = std::thread::Builder::new().name("rf-agent".into());
        let thread = builder.spawn(move || {
            let mut worker = match Worker::new(equipment, read, answer.clone(), tell) {
                Ok(worker) => worker,
                Err(error) => {
                    // Nobody may listen any more.
                    let _ = answer.send(Err(error));
                    return Ok(Report::default());
                }
            };
            let _ = answer.send(Ok(()));
            worker.live()?;
            Ok(worker.report())
        })?;
        let agent = Self {
            orders: Some(orders),
            answers,
            events,
            thread: Some(thread),
        };
        agent.answer()?;
        Ok(agent)
    }

    /// Has it take in a member.
    ///
    /// # Errors
    /// The thread or the agent has ended.
    pub fn join(&mut self, order: Order) -> io::Result<()> {
        let mut orders = self.orders.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        orders.write_all(&order.bytes())?;
        self.answer()
    }

    /// What it did since it was last asked.
    pub fn events(&mut self) -> impl Iterator<Item = Event> {
        self.events.events()
    }

    /// How many events found no place so far.
    pub fn lost(&self) -> u64 {
        self.events.lost()
    }

    /// Lets all gangs go on and ends it; `None` if it has ended before.
    ///
    /// # Errors
    /// What has ended it too early.
    pub fn end(&mut self) -> Option<io::Result<Report>> {
        self.orders = None;
        let ended = self.thread.take()?.join();
        Some(ended.unwrap_or_else(|_| Err(io::Error::other("the agent has panicked"))))
    }

    /// Whether it is at work.
    pub fn lives(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    fn answer(&self) -> io::Result<()> {
        let answer = self.answers.recv();
        answer.unwrap_or_else(|_| Err(io::Error::other("the agent has ended")))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Who wanted to know how it ended has asked.
        let _ = self.end();
    }
}

impl Order {
    const BYTES: usize = 16;

    fn bytes(&self) -> [u8; Self::BYTES] {
        let cpu = self.pinned_to.map_or(-1, i32::from);
        let mut bytes = [0; Self::BYTES];
        let numbers = [self.process, self.tid, self.gang as i32, cpu];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    fn read(bytes: [u8; Self::BYTES]) -> Self {
        let number = |index: usize| {
            let place = bytes[4 * index..][..4].try_into();
            i32::from_ne_bytes(place.expect("four of them"))
        };
        Self {
            process: number(0),
            tid: number(1),
            gang: number(2) as usize,
            pinned_to: number(3).try_into().ok(),
        }
    }
}

/// The thread. Whatever ends it, gangs go on.
struct Worker {
    arbiter: Arbiter,
    groups: Arc<Vec<Group>>,
    news: News,
    orders: PipeReader,
    answers: Sender<io::Result<()>>,
    events: Teller,
    sequence: Arc<AtomicU64>,
    board: Arc<Board>,
    regulation: Option<Regulation>,
    /// What `/proc` says of each member.
    states: BTreeMap<i32, File>,
    /// The gang that was told to run in each partition.
    running: Vec<Option<usize>>,
    /// When each gang was stopped, and who was runnable then.
    stopped: BTreeMap<usize, (u64, Vec<i32>)>,
    held: Vec<Held>,
    next_look_ns: u64,
}

impl Drop for Worker {
    fn drop(&mut self) {
        for group in self.groups.iter() {
            // What is not thawed now is when the group is removed.
            let _ = group.set_frozen(false);
        }
    }
}

impl Worker {
    fn new(
        equipment: Equipment,
        orders: PipeReader,
        answers: Sender<io::Result<()>>,
        events: Teller,
    ) -> io::Result<Self> {
        sys::set_class(0, libc::SCHED_FIFO, PRIORITY)?;
        Ok(Self {
            arbiter: equipment.arbiter,
            groups: equipment.groups,
            news: News::of(equipment.source)?,
            orders,
            answers,
            events,
            sequence: equipment.sequence,
            board: equipment.board,
            regulation: equipment.regulation,
            states: BTreeMap::new(),
            running: vec![None; equipment.partitions],
            stopped: BTreeMap::new(),
            held: Vec::new(),
            next_look_ns: 0,
        })
    }

    fn live(&mut self) -> io::Result<()> {
        while self.take_order()? {
            self.news.pass_on(&mut self.arbiter)?;
            let now_ns = clock::now_ns();
            if now_ns >= self.next_look_ns {
                self.look_at(&self.states.keys().copied().collect::<Vec<_>>());
                let took_ns = clock::now_ns() - now_ns;
                self.next_look_ns = now_ns + LOOK_NS.max(LOOK_COSTS_TIMES * took_ns);
            }
            self.settle()?;
            let next_ns = self.arbiter.next_timer_ns().unwrap_or(u64::MAX);
            let next_ns = next_ns.min(self.next_look_ns);
            let wait = Duration::from_nanos(next_ns.saturating_sub(clock::now_ns()));
            sys::wait_readable(&[self.news.waits_on(), self.orders.as_fd()], wait)?;
        }
        Ok(())
    }

    /// Whether there may be more orders.
    fn take_order(&mut self) -> io::Result<bool> {
        let mut bytes = [0; Order::BYTES];
        if !sys::is_readable(self.orders.as_fd())? {
            return Ok(true);
        }
        match self.orders.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            result => result?,
        }
        let taken = self.take_in(Order::read(bytes));
        let _ = self.answers.send(taken);
        Ok(true)
    }

    fn take_in(&mut self, order: Order) -> io::Result<()> {
        let path = format!("/proc/{}/task/{}/stat", order.process, order.tid);
        let now_ns = clock::now_ns();
        self.states.insert(order.tid, File::open(path)?);
        self.arbiter
            .join(order.tid, order.gang, order.pinned_to, now_ns);
        self.look_at(&[order.tid]);
        Ok(())
    }

    fn look_at(&mut self, threads: &[i32]) {
        for &tid in threads {
            let Some(file) = self.states.get(&tid) else {
                continue;
            };
            let now_ns = clock::now_ns();
            let state = state(file);
            if state.is_none() {
                self.states.remove(&tid);
            }
            self.arbiter
                .looked(tid, state.map(|state| state == b'R'), now_ns);
        }
    }

    fn settle(&mut self) -> io::Result<()> {
        loop {
            let actions = self.arbiter.settle(clock::now_ns());
            self.tell();
            self.board.write(|board| self.arbiter.show(board));
            if actions.is_empty() {
                return Ok(());
            }
            for action in actions {
                match action {
                    Action::Stop(gang) => self.stop(gang)?,
                    Action::Go(gang) => self.go(gang)?,
                }
            }
        }
    }

    fn stop(&mut self, gang: usize) -> io::Result<()> {
        let runnable = self.arbiter.runnable_members(gang);
        self.stopped.insert(gang, (clock::now_ns(), runnable));
        self.groups[gang].set_frozen(true)
    }

    fn go(&mut self, gang: usize) -> io::Result<()> {
        self.groups[gang].set_frozen(false)?;
        let now_ns = clock::now_ns();
        self.arbiter.went_on(gang, now_ns);
        self.look_at(&self.arbiter.members(gang));
        if let Some((from_ns, threads)) = self.stopped.remove(&gang) {
            let runnable = self.arbiter.runnable_members(gang);
            let held = threads.iter().filter(|tid| runnable.contains(tid));
            self.held.extend(held.map(|&tid| Held {
                tid,
                from_ns,
                to_ns: now_ns,
            }));
        }
        Ok(())
    }

    /// Tells which gangs run, and throttles for them.
    fn tell(&mut self) {
        for partition in 0..self.running.len() {
            let running = self.arbiter.running(partition);
            if self.running[partition] == running {
                continue;
            }
            self.running[partition] = running;
            let event = Event {
                time_ns: clock::now_ns(),
                sequence: self.sequence.fetch_add(1, Relaxed),
                what: What::GangActive {
                    partition: partition as u32,
                    priority: running.map_or(0, |gang| self.arbiter.priority(gang).into()),
                },
            };
            self.events.tell(event);
            if let Some(regulation) = &mut self.regulation {
                regulation.runs(partition, running);
            }
        }
    }

    fn report(&mut self) -> Report {
        let now_ns = clock::now_ns();
        for (_, (from_ns, threads)) in std::mem::take(&mut self.stopped) {
            self.held.extend(threads.into_iter().map(|tid| Held {
                tid,
                from_ns,
                to_ns: now_ns,
            }));
        }
        Report {
            hand_overs: self.arbiter.hand_overs().clone(),
            held: std::mem::take(&mut self.held),
        }
    }
}

impl Regulation {
    /// This gang runs in the partition from now on.
    fn runs(&mut self, partition: usize, gang: Option<usize>) {
        match gang {
            Some(gang) => drop(
                self.domain
                    .gang_running(partition as u8, self.tolerances[gang]),
            ),
            None => drop(self.domain.gang_stopped(partition as u8)),
        }
        self.level.set(self.domain.threshold());
    }
}

/// The letter of a thread's state, by its file `stat`; `None` if it has ended.
fn state(file: &File) -> Option<u8> {
    let mut bytes = [0; 128];
    let length = file.read_at(&mut bytes, 0).ok()?;
    // The name may hold parentheses; it has 15 bytes at most, and what follows are numbers.
    let end = bytes[..length].iter().rposition(|&byte| byte == b')')?;
    let state = *bytes.get(end + 2)?;
    (!matches!(state, b'Z' | b'X')).then_some(state)
}
