//! A machine without memory: threads take a fixed time, stretched by named
//! co-runners.
//!
//! It answers scheduling questions exactly. A slowdown of `f` thousandths is
//! the fraction `f/1000` in lowest terms, `n/d`; a stream's work is counted in
//! parts of `1/(n1*n2*...)` picosecond over all its slowdowns, so that its
//! progress in one picosecond is a whole number of parts whichever of them
//! apply. Nothing is rounded but the end of a job, up to the next picosecond.

use super::{CoreTraffic, Machine, Picoseconds, Stop, StreamId, TrafficLimit};

/// What one stream executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeStream {
    /// Index of the task or best-effort entry that the stream belongs to.
    pub owner: usize,
    /// Time of one job alone; `None` never ends.
    pub work_ps: Option<Picoseconds>,
    /// Owners that slow this stream down while one of their streams runs.
    pub slowed_by: Vec<Slowdown>,
}

/// How much an owner slows a stream down; several apply as a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slowdown {
    /// Who slows it down.
    pub owner: usize,
    /// How much longer the stream takes meanwhile, in thousandths; at least 1000.
    pub factor_milli: u32,
}

/// Why a [`ComputeMachine`] cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// Progress is counted exactly in 128 bits, and these slowdowns need more.
    #[error(
        "{slowdowns} slowdowns on a job of {work_ps} ps need more than 127 bits to be exact; \
         use fewer slowdowns, or factors that divide by a power of ten"
    )]
    TooFine {
        /// Number of slowdowns of the stream.
        slowdowns: usize,
        /// Its time alone in picoseconds.
        work_ps: Picoseconds,
    },
}

/// Executes streams by their rates; see the module's description.
#[derive(Debug, Clone)]
pub struct ComputeMachine {
    now: Picoseconds,
    cores: Vec<Option<Busy>>,
    streams: Vec<Stream>,
    /// Streams that execute now, for each owner.
    running: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Busy {
    stream: usize,
    from: Picoseconds,
    interrupt_at: Option<Picoseconds>,
}

#[derive(Debug, Clone)]
struct Stream {
    owner: usize,
    work: Option<Work>,
    ratios: Vec<Ratio>,
}

/// In parts of a picosecond; see the module's description.
#[derive(Debug, Clone, Copy)]
struct Work {
    total: u128,
    left: u128,
}

#[derive(Debug, Clone, Copy)]
struct Ratio {
    owner: usize,
    numerator: u128,
    denominator: u128,
}

impl ComputeMachine {
    /// A machine with `cores` idle cores; [`StreamId`] `i` is `streams[i]`.
    ///
    /// # Errors
    /// [`ComputeError::TooFine`] when exact progress does not fit 128 bits.
    pub fn new(cores: u16, streams: &[ComputeStream]) -> Result<Self, ComputeError> {
        let streams = streams
            .iter()
            .map(Stream::new)
            .collect::<Result<Vec<_>, _>>()?;
        let owners = streams
            .iter()
            .flat_map(|stream| stream.ratios.iter().map(|r| r.owner).chain([stream.owner]))
            .max()
            .map_or(0, |owner| owner + 1);
        Ok(Self {
            now: 0,
            cores: vec![None; usize::from(cores)],
            streams,
            running: vec![0; owners],
        })
    }

    /// The first core, in core order, that has something to report now.
    fn due(&self) -> Option<(u16, Stop)> {
        self.cores.iter().enumerate().find_map(|(core, busy)| {
            let busy = busy.filter(|busy| busy.from <= self.now)?;
            let core = u16::try_from(core).expect("a machine has at most 512 cores");
            let time = self.now;
            if self.streams[busy.stream].work.is_some_and(|w| w.left == 0) {
                Some((core, Stop::Ended { core, time }))
            } else if busy.interrupt_at.is_some_and(|at| at <= time) {
                Some((core, Stop::Interrupted { core, time }))
            } else {
                None
            }
        })
    }

    /// The next time at which a core starts, ends or is interrupted.
    fn next_change(&self) -> Option<Picoseconds> {
        self.cores
            .iter()
            .flatten()
            .filter_map(|busy| {
                if busy.from > self.now {
                    return Some(busy.from);
                }
                let stream = &self.streams[busy.stream];
                let end = stream.work.map(|work| {
                    let picoseconds = work.left.div_ceil(stream.progress(&self.running));
                    self.now
                        .saturating_add(u64::try_from(picoseconds).unwrap_or(u64::MAX))
                });
                [end, busy.interrupt_at].into_iter().flatten().min()
            })
            .min()
    }

    /// Executes up to `to`, which lies in the future and before which nothing changes.
    fn advance(&mut self, to: Picoseconds) {
        let elapsed = u128::from(to - self.now);
        for busy in self.cores.iter().flatten().filter(|b| b.from <= self.now) {
            let stream = &mut self.streams[busy.stream];
            let progress = stream.progress(&self.running);
            if let Some(work) = &mut stream.work {
                work.left = work.left.saturating_sub(elapsed * progress);
            }
        }
        for busy in self.cores.iter().flatten().filter(|b| b.from == to) {
            self.running[self.streams[busy.stream].owner] += 1;
        }
        self.now = to;
    }

    fn leave(&mut self, core: u16) {
        let busy = self.cores[usize::from(core)].take().expect("a busy core");
        self.running[self.streams[busy.stream].owner] -= 1;
    }
}

impl Stream {
    fn new(stream: &ComputeStream) -> Result<Self, ComputeError> {
        let ratios: Vec<Ratio> = stream.slowed_by.iter().map(Ratio::new).collect();
        let work = match stream.work_ps {
            None => None,
            Some(work_ps) => {
                let parts = ratios
                    .iter()
                    .try_fold(1_u128, |parts, r| parts.checked_mul(r.numerator))
                    .and_then(|parts| parts.checked_mul(u128::from(work_ps)))
                    // One bit spare: a job's last step may overshoot its end by less than a step.
                    .filter(|&parts| parts < 1 << 127)
                    .ok_or(ComputeError::TooFine {
                        slowdowns: ratios.len(),
                        work_ps,
                    })?;
                Some(Work {
                    total: parts,
                    left: parts,
                })
            }
        };
        Ok(Self {
            owner: stream.owner,
            work,
            ratios,
        })
    }

    /// Parts of work done in one picosecond.
    fn progress(&self, running: &[usize]) -> u128 {
        if self.work.is_none() {
            return 1;
        }
        self.ratios
            .iter()
            .map(|ratio| match running[ratio.owner] {
                0 => ratio.numerator,
                _ => ratio.denominator,
            })
            .product()
    }
}

impl Ratio {
    fn new(slowdown: &Slowdown) -> Self {
        let (mut divisor, mut rest) = (slowdown.factor_milli, 1000);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self {
            owner: slowdown.owner,
            numerator: u128::from(slowdown.factor_milli / divisor),
            denominator: u128::from(1000 / divisor),
        }
    }
}

impl Machine for ComputeMachine {
    fn run_until(&mut self, horizon: Picoseconds) -> Stop {
        loop {
            if let Some((core, stop)) = self.due() {
                self.leave(core);
                return stop;
            }
            if self.now >= horizon {
                return Stop::Horizon;
            }
            let next = self.next_change().map_or(horizon, |at| at.min(horizon));
            self.advance(next);
        }
    }

    fn start(&mut self, core: u16, stream: StreamId, at: Picoseconds) {
        let stream = stream.0 as usize;
        let from = at.max(self.now);
        if from == self.now {
            self.running[self.streams[stream].owner] += 1;
        }
        self.cores[usize::from(core)] = Some(Busy {
            stream,
            from,
            interrupt_at: None,
        });
    }

    fn interrupt(&mut self, core: u16, at: Picoseconds) {
        if let Some(busy) = &mut self.cores[usize::from(core)] {
            let at = at.max(self.now);
            busy.interrupt_at = Some(busy.interrupt_at.map_or(at, |earlier| earlier.min(at)));
        }
    }

    fn begin_job(&mut self, stream: StreamId, _job: u32) {
        if let Some(work) = &mut self.streams[stream.0 as usize].work {
            work.left = work.total;
        }
    }

    /// Always false: a fixed time is one phase.
    fn has_next_phase(&self, _stream: StreamId) -> bool {
        false
    }

    /// Always zero: there is no memory.
    fn traffic(&self, _core: u16) -> CoreTraffic {
        CoreTraffic::default()
    }

    fn executed(&self, _stream: StreamId) -> Option<u64> {
        None
    }

    /// Without memory no limit is ever reached.
    fn set_traffic_limit(&mut self, _core: u16, _limit: TrafficLimit) {}
}
