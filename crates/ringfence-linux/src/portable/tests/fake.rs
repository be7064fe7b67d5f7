//! A kernel of a few threads, with both freezers and with the ways in which it tells too
//! little.

use crate::portable::arbiter::{Action, Arbiter, Gang};
use crate::portable::freezer::Version;
use crate::recorder::{ThreadEvent, What};

/// What happens next.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// A thread gets work.
    Wake(usize),
    /// A thread on a CPU has none any more.
    Sleep(usize),
    /// CPUs notice what their threads were told.
    React,
    /// The agent reads all events and decides; so many happen in between.
    Settle(usize),
    /// The agent reads all events and looks at all threads.
    Look,
    /// The kernel does not tell what it would have told last.
    Forget,
}

struct Thread {
    gang: usize,
    priority: u8,
    cpu: u16,
    /// Has work, whether anybody knows or not.
    wants: bool,
    /// The kernel has told that it woke, and not that it sleeps by itself.
    is_known: bool,
    /// Runnable to the kernel.
    is_ready: bool,
    /// Was on its CPU when its gang was told to freeze, or came there before.
    is_outside: bool,
    /// Stopped in the kernel.
    is_frozen: bool,
    /// Since when it overlaps a higher gang.
    overlaps_ns: Option<u64>,
}

pub struct Fake {
    pub arbiter: Arbiter,
    pub now_ns: u64,
    /// Whether the group of each gang was told to freeze.
    pub frozen: Vec<bool>,
    /// Whether who gets an idle CPU, and not only to be stopped, is not always told.
    pub forgets: bool,
    /// The same of who wakes there.
    pub forgets_wakes: bool,
    /// Times that a gang was let go on while a lower one ran on a CPU.
    pub went_on_beside_lower: usize,
    pub longest_overlap_ns: u64,
    threads: Vec<Thread>,
    on: Vec<Option<usize>>,
    /// Whose thread has left in this step: its next one comes to no idle CPU.
    has_left: Vec<bool>,
    untold: Vec<ThreadEvent>,
    version: Version,
}

impl Fake {
    /// Threads 2 * N and 2 * N + 1 are of gang N, on CPUs 0 and 1.
    pub fn new(mut arbiter: Arbiter, gangs: &[Gang], version: Version) -> Self {
        let mut threads = Vec::new();
        for (gang, Gang { priority, cpus, .. }) in gangs.iter().enumerate() {
            for &cpu in cpus {
                arbiter.join(threads.len() as i32, gang, Some(cpu), 0);
                threads.push(Thread {
                    gang,
                    priority: *priority,
                    cpu,
                    wants: false,
                    is_known: false,
                    is_ready: false,
                    is_frozen: false,
                    is_outside: false,
                    overlaps_ns: None,
                });
            }
        }
        Self {
            arbiter,
            now_ns: 0,
            frozen: vec![false; gangs.len()],
            forgets: false,
            forgets_wakes: false,
            went_on_beside_lower: 0,
            longest_overlap_ns: 0,
            threads,
            on: vec![None; 2],
            has_left: vec![false; 2],
            untold: Vec::new(),
            version,
        }
    }

    pub fn step(&mut self, time_ns: u64, op: Op) {
        self.now_ns += time_ns;
        match op {
            Op::Wake(thread) => self.wake(thread),
            Op::Sleep(thread) => self.sleep(thread),
            Op::React => self.react(),
            Op::Settle(unread) => {
                self.tell(self.untold.len().saturating_sub(unread));
                self.settle();
            }
            Op::Look => self.look(),
            Op::Forget => drop(self.untold.pop()),
        }
        self.dispatch();
        self.measure();
    }

    /// Until nothing happens any more.
    pub fn rest(&mut self) {
        for _ in 0..20 {
            for op in [Op::React, Op::Look, Op::Settle(0)] {
                self.step(1, op);
            }
        }
    }

    pub fn gangs_with_work(&self) -> Vec<usize> {
        let with_work = self.threads.iter().filter(|thread| thread.wants);
        with_work.map(|thread| thread.gang).collect()
    }

    fn emit(&mut self, thread: usize, what: What) {
        self.untold.push(ThreadEvent {
            time_ns: self.now_ns,
            what,
            cpu: self.threads[thread].cpu,
            tid: thread as i32,
            tgid: 1,
        });
    }

    fn wake(&mut self, thread: usize) {
        let it = &mut self.threads[thread];
        if std::mem::replace(&mut it.wants, true) || it.is_frozen || self.frozen[it.gang] {
            // Its timer is found to be over when it goes on.
            return;
        }
        it.is_ready = true;
        it.is_known = true;
        let cpu_is_idle = self.on[usize::from(it.cpu)].is_none();
        if !(cpu_is_idle && self.forgets_wakes && self.now_ns.is_multiple_of(6)) {
            self.emit(thread, What::Woke);
        }
    }

    fn sleep(&mut self, thread: usize) {
        let it = &self.threads[thread];
        if self.on[usize::from(it.cpu)] == Some(thread) && !self.frozen[it.gang] {
            self.threads[thread].wants = false;
            self.react();
        }
    }

    /// Threads on CPUs whose gang was frozen stop, and those without work sleep.
    fn react(&mut self) {
        for cpu in 0..self.on.len() {
            let Some(thread) = self.on[cpu] else { continue };
            let it = &mut self.threads[thread];
            if self.frozen[it.gang] {
                it.is_frozen = true;
            } else if !it.wants {
                it.is_known = false;
            } else {
                continue;
            }
            it.is_ready = false;
            self.on[cpu] = None;
            self.has_left[cpu] = true;
            self.emit(thread, What::Sleeps);
        }
    }

    fn dispatch(&mut self) {
        for cpu in 0..self.on.len() {
            let was_idle = self.on[cpu].is_none() && !std::mem::take(&mut self.has_left[cpu]);
            let ready = self.threads.iter().enumerate();
            let ready = ready.filter(|(_, it)| it.is_ready && usize::from(it.cpu) == cpu);
            let next = ready.max_by_key(|(_, it)| it.priority);
            let next = next.map(|(thread, _)| thread);
            let last = self.on[cpu];
            if next == last {
                continue;
            }
            self.on[cpu] = next;
            if let Some(next) = next {
                let it = &mut self.threads[next];
                // Otherwise it comes only to be stopped before it leaves the kernel.
                it.is_outside = !self.frozen[it.gang];
            }
            if let Some(last) = last {
                self.emit(last, What::Preempted);
            }
            let is_untold = was_idle && self.forgets && self.now_ns.is_multiple_of(3);
            let is_told = |next: &usize| !is_untold || !self.threads[*next].is_outside;
            if let Some(next) = next.filter(is_told) {
                self.emit(next, What::On);
            }
        }
    }

    fn measure(&mut self) {
        for thread in 0..self.threads.len() {
            let it = &self.threads[thread];
            let is_higher = |other: &Thread| other.is_known && other.priority > it.priority;
            let is_on = self.on[usize::from(it.cpu)] == Some(thread);
            let overlaps = is_on && self.threads.iter().any(is_higher);
            let now_ns = self.now_ns;
            let it = &mut self.threads[thread];
            // What ends now has lasted until now.
            if let Some(since_ns) = it.overlaps_ns {
                self.longest_overlap_ns = self.longest_overlap_ns.max(now_ns - since_ns);
            }
            it.overlaps_ns = overlaps.then(|| it.overlaps_ns.unwrap_or(now_ns));
        }
    }

    fn tell(&mut self, count: usize) {
        for event in self.untold.drain(..count) {
            self.arbiter.told(&event);
        }
    }

    fn look(&mut self) {
        self.tell(self.untold.len());
        for (tid, thread) in (0..).zip(&self.threads) {
            self.arbiter.looked(tid, Some(thread.is_ready), self.now_ns);
        }
    }

    fn settle(&mut self) {
        loop {
            let actions = self.arbiter.settle(self.now_ns);
            if actions.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    Action::Stop(gang) => self.stop(gang),
                    Action::Go(gang) => self.go(gang),
                }
            }
        }
    }

    fn stop(&mut self, gang: usize) {
        assert!(!std::mem::replace(&mut self.frozen[gang], true));
        for thread in 0..self.threads.len() {
            let it = &mut self.threads[thread];
            if it.gang != gang || it.is_ready {
                continue;
            }
            match self.version {
                // It sleeps on.
                Version::V1 => it.is_frozen = true,
                // It wakes to be stopped.
                Version::V2 => {
                    it.is_ready = true;
                    self.emit(thread, What::Woke);
                }
            }
        }
    }

    fn go(&mut self, gang: usize) {
        assert!(std::mem::replace(&mut self.frozen[gang], false));
        let lower = self.on.iter().flatten();
        let lower =
            lower.filter(|&&it| self.threads[it].gang < gang && self.threads[it].is_outside);
        // Who has come and was not told could not be known.
        let lower = lower.filter(|&&it| self.untold.iter().all(|event| event.tid != it as i32));
        let has_work = !self.arbiter.runnable_members(gang).is_empty();
        self.went_on_beside_lower += usize::from(has_work && lower.count() > 0);
        for thread in 0..self.threads.len() {
            let version = self.version;
            let it = &mut self.threads[thread];
            if it.gang != gang || !std::mem::replace(&mut it.is_frozen, false) {
                continue;
            }
            if it.wants || version == Version::V2 {
                it.is_ready = true;
                it.is_known = true;
                self.emit(thread, What::Woke);
            }
        }
        self.arbiter.went_on(gang, self.now_ns);
        for tid in self.arbiter.members(gang) {
            let is_ready = self.threads[tid as usize].is_ready;
            self.arbiter.looked(tid, Some(is_ready), self.now_ns);
        }
    }
}
