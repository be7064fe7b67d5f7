//! A trace for Perfetto (ui.perfetto.dev), in its TrackEvent format.
//!
//! Every case is a process; all cases begin at time 0, so they can be compared.

mod emit;
mod proto;

use std::io::Write;

use ringfence_analysis::case::{CaseRun, CoreRun, Job, JobEnd};
use ringfence_analysis::statistics::{BandwidthPoint, CoreStatistics};
use ringfence_analysis::summary::CaseSummary;
use ringfence_record::event::{OffReason, UnthrottleReason};

use crate::Error;
use crate::report::Report;
use emit::{Detail, Emitter, Track};

/// A counter's name, and its bytes in a stretch of time.
type Traffic = (&'static str, fn(&BandwidthPoint) -> u64);

/// The counters of a core.
const TRAFFIC: [Traffic; 4] = [
    ("reads", |point| point.read_bytes),
    ("writes", |point| point.write_bytes),
    ("best-effort reads", |point| point.best_effort_read_bytes),
    ("best-effort writes", |point| point.best_effort_write_bytes),
];

/// Writes the trace.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, out: &mut impl Write) -> Result<(), Error> {
    let mut emitter = Emitter::new(out);
    for ((run, summary), number) in report.readable_cases().zip(1..) {
        let group = emitter.group(number, &summary.name)?;
        CaseTracks {
            emitter: &mut emitter,
            group,
            run,
            next_rank: 0,
        }
        .write(summary)?;
    }
    Ok(())
}

/// The tracks of one case, top to bottom.
struct CaseTracks<'a, W> {
    emitter: &'a mut Emitter<W>,
    group: Track,
    run: &'a CaseRun,
    next_rank: usize,
}

impl<W: Write> CaseTracks<'_, W> {
    fn write(mut self, summary: &CaseSummary) -> Result<(), Error> {
        for task in 0..self.run.case.tasks.len() {
            self.jobs(task)?;
        }
        for partition in 0..self.run.partitions.len() {
            self.active_gangs(partition)?;
        }
        let statistics = summary
            .statistics
            .iter()
            .flat_map(|statistics| &statistics.cores);
        for ((number, core), statistics) in self.run.cores.iter().enumerate().zip(statistics) {
            self.core(number, core)?;
            self.traffic(statistics)?;
        }
        self.messages()
    }

    fn track(&mut self, name: &str) -> Result<Track, Error> {
        self.next_rank += 1;
        Ok(self.emitter.track(self.group, self.next_rank, name)?)
    }

    /// Jobs from release to finish. Those that overlap go to further tracks of
    /// the same name, which Perfetto shows as one.
    fn jobs(&mut self, task: usize) -> Result<(), Error> {
        let name = self.run.case.tasks[task].name.clone();
        let mut lanes: Vec<(Track, u64)> = Vec::new();
        for (number, job) in self.run.jobs[task].iter().enumerate() {
            let free = lanes
                .iter()
                .position(|&(_, end_ns)| end_ns <= job.released_ns);
            let lane = match free {
                Some(lane) => lane,
                None => {
                    lanes.push((self.track(&name)?, 0));
                    lanes.len() - 1
                }
            };
            lanes[lane].1 = self.job(lanes[lane].0, task, number, job)?;
        }
        Ok(())
    }

    /// Writes a job and returns its end.
    fn job(&mut self, track: Track, task: usize, number: usize, job: &Job) -> Result<u64, Error> {
        let declared = &self.run.case.tasks[task];
        let missed = job.missed(declared, self.run.end_ns);
        let (end_ns, how) = match job.end {
            JobEnd::Finished(finished_ns) => (finished_ns, ""),
            JobEnd::Dropped(dropped_ns) => (dropped_ns, " dropped"),
            JobEnd::Unfinished => (self.run.end_ns, " unfinished"),
        };
        let flag = if missed { " MISSED" } else { "" };
        let mut details = vec![Detail::Number("deadline_ns", job.deadline_ns(declared))];
        details.extend(
            job.started_ns
                .map(|started_ns| Detail::Number("started_ns", started_ns)),
        );
        details.extend(
            job.response_ns()
                .map(|ns| Detail::Number("response_ns", ns)),
        );
        let span = (job.released_ns, end_ns);
        self.emitter.slice(
            track,
            span,
            "job",
            &format!("job {number}{how}{flag}"),
            details,
        )?;
        Ok(end_ns)
    }

    fn active_gangs(&mut self, partition: usize) -> Result<(), Error> {
        let case = &self.run.case;
        let track = self.track(&format!(
            "active gang of {}",
            case.partitions[partition].name
        ))?;
        for active in &self.run.partitions[partition] {
            let Some(priority) = active.priority else {
                continue;
            };
            let gangs = case.gangs.iter().filter(|gang| {
                usize::from(gang.partition) == partition && gang.priority == priority
            });
            let names: Vec<&str> = gangs.map(|gang| gang.name.as_str()).collect();
            let details = vec![Detail::Number("priority", priority.into())];
            let span = (active.from_ns, active.to_ns);
            self.emitter
                .slice(track, span, "gang", &names.join(" + "), details)?;
        }
        Ok(())
    }

    fn core(&mut self, number: usize, core: &CoreRun) -> Result<(), Error> {
        let track = self.track(&format!("core {number}"))?;
        for on in &core.occupations {
            let left = match on.off {
                Some(OffReason::Preempted) => "preempted",
                Some(OffReason::Sleeping) => "sleeping",
                Some(OffReason::Throttled) => "throttled",
                Some(OffReason::Ended) | None => "run ended",
            };
            let kind = if self.run.is_best_effort(on.thread) {
                "best-effort"
            } else {
                "real-time"
            };
            let details = vec![Detail::Text("left", left.into())];
            let name = self.run.thread_name(on.thread);
            self.emitter
                .slice(track, (on.from_ns, on.to_ns), kind, name, details)?;
        }
        if core.throttles.is_empty() {
            return Ok(());
        }
        let track = self.track(&format!("core {number} throttled"))?;
        for throttle in &core.throttles {
            let until = match throttle.reason {
                Some(UnthrottleReason::Refill) => "refill",
                Some(UnthrottleReason::NoGang) => "no gang runs",
                Some(UnthrottleReason::Loan) => "something is borrowed",
                None => "run ended",
            };
            let details = vec![Detail::Text("until", until.into())];
            let span = (throttle.from_ns, throttle.to_ns);
            self.emitter
                .slice(track, span, "throttled", "throttled", details)?;
        }
        Ok(())
    }

    /// Mean traffic of each stretch between samples.
    fn traffic(&mut self, core: &CoreStatistics) -> Result<(), Error> {
        for (name, bytes) in TRAFFIC {
            if core.bandwidth.is_empty() {
                continue;
            }
            self.next_rank += 1;
            let name = format!("core {} {name}", core.core);
            let track = self
                .emitter
                .counter_track(self.group, self.next_rank, &name, "MB/s")?;
            for point in &core.bandwidth {
                let mega_per_second =
                    bytes(point) as f64 * 1e3 / (point.to_ns - point.from_ns).max(1) as f64;
                self.emitter.value(track, point.from_ns, mega_per_second)?;
            }
        }
        Ok(())
    }

    fn messages(&mut self) -> Result<(), Error> {
        if self.run.messages.is_empty() {
            return Ok(());
        }
        let track = self.track("messages")?;
        for message in &self.run.messages {
            self.emitter
                .instant(track, message.time_ns, "message", &message.text)?;
        }
        Ok(())
    }
}
