//! What the page's scripts draw from, as JSON in the page.

use ringfence_analysis::case::{BudgetInForce, CaseRun, Job, JobEnd, Occupation, Throttle};
use ringfence_analysis::distribution::BoxPlot;
use ringfence_analysis::statistics::CoreStatistics;
use ringfence_analysis::summary::{CaseSummary, Summary};
use serde::Serialize;

use super::accuracy::{self, MeasureData, TrajectoryData};
use super::thin::{Slice, thin};
use crate::report::Report;
use crate::rows::{self, each_once, work_name};

/// Most slices of one kind that a case puts into the page: about half a megabyte.
const MOST_SLICES: usize = 40_000;
/// Most jobs of one task that a case puts into the page.
pub const MOST_JOBS: usize = 10_000;

/// The whole of it.
#[derive(Serialize)]
pub struct PageData<'a> {
    case_names: Vec<&'a str>,
    tasks: Vec<TaskData<'a>>,
    trajectories: Vec<TrajectoryData<'a>>,
    measures: Vec<MeasureData<'a>>,
    pub timelines: Vec<Timeline<'a>>,
}

/// Response times of one task in every case that has any.
#[derive(Serialize)]
struct TaskData<'a> {
    index: usize,
    name: &'a str,
    deadline_ns: u64,
    cases: Vec<TaskCase<'a>>,
}

#[derive(Serialize)]
struct TaskCase<'a> {
    case: &'a str,
    cdf: Cdf,
    r#box: &'a BoxPlot,
}

#[derive(Serialize)]
struct Cdf {
    response_ns: Vec<u64>,
    /// Of all jobs that were due or finished.
    share: Vec<f64>,
}

/// What happened in one case.
#[derive(Serialize)]
pub struct Timeline<'a> {
    pub case: &'a str,
    duration_ns: u64,
    groups: Vec<Group>,
    threads: Vec<Thread<'a>>,
    tasks: Vec<TaskJobs<'a>>,
    cores: Vec<Core>,
    /// Bytes per second that `what` of a budget slice stands for.
    budget_levels: Vec<u64>,
    bandwidth: Vec<Bandwidth>,
    /// Slices shorter than this are merged with their neighbours; 0: none are.
    pub resolution_ns: u64,
}

/// Threads of one colour.
#[derive(Clone, PartialEq, Serialize)]
pub struct Group {
    #[serde(skip)]
    pub name: String,
    /// Index among the gangs of all cases; `None` for best-effort work.
    pub gang: Option<usize>,
    /// Which grey, for best-effort work.
    pub shade: usize,
}

#[derive(Serialize)]
struct Thread<'a> {
    name: &'a str,
    group: usize,
}

#[derive(Serialize)]
struct TaskJobs<'a> {
    name: &'a str,
    group: usize,
    period_ns: u64,
    deadline_ns: u64,
    jobs: Jobs,
}

#[derive(Default, Serialize)]
struct Jobs {
    job: Vec<usize>,
    released_ns: Vec<u64>,
    finished_ns: Vec<Option<u64>>,
    missed: Vec<u8>,
}

#[derive(Serialize)]
struct Core {
    slices: Slices,
    throttled: Slices,
    budgets: Slices,
}

/// Slices in order of time, packed: the gap before each, its length, what it is.
#[derive(Default, Serialize)]
struct Slices {
    gap_ns: Vec<u64>,
    length_ns: Vec<u64>,
    what: Vec<u16>,
}

/// Mean traffic in bytes per second, in consecutive stretches of time.
#[derive(Default, Serialize)]
struct Bandwidth {
    start_ns: Vec<u64>,
    length_ns: Vec<u64>,
    all: Vec<u64>,
    best_effort_read: Vec<u64>,
    best_effort_write: Vec<u64>,
}

impl<'a> PageData<'a> {
    pub fn of(report: &'a Report) -> Self {
        let colours = Colours::of(report);
        PageData {
            case_names: report
                .summary
                .cases
                .iter()
                .map(|case| case.name.as_str())
                .collect(),
            tasks: tasks(report),
            trajectories: accuracy::trajectory_data(report),
            measures: accuracy::measure_data(report),
            timelines: report
                .cases_with_course()
                .map(|(case, summary)| timeline(case, summary, &colours))
                .collect(),
        }
    }

    /// As JSON that cannot end the script element which holds it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(self)?.replace('<', "\\u003c"))
    }

    /// The colours that occur, each once: gangs first.
    pub fn legend(&self) -> Vec<Group> {
        let groups = self.timelines.iter().flat_map(|timeline| &timeline.groups);
        let mut legend: Vec<Group> = each_once(groups).into_iter().cloned().collect();
        legend.sort_by_key(|group| group.gang.is_none());
        legend
    }
}

/// Names of the tasks with response times, in the order of their appearance.
pub fn task_names(summary: &Summary) -> Vec<&str> {
    let all = summary.cases.iter().flat_map(rows::tasks);
    let with_response = all.filter(|task| task.response.is_some());
    each_once(with_response.map(|task| task.task.as_str()))
}

fn tasks(report: &Report) -> Vec<TaskData<'_>> {
    task_names(&report.summary)
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            let cases: Vec<_> = report
                .readable_cases()
                .filter_map(|(run, case)| task_case(run, case, name))
                .collect();
            let deadline_ns = cases.first().map_or(0, |&(deadline_ns, _)| deadline_ns);
            let cases = cases.into_iter().map(|(_, case)| case).collect();
            TaskData {
                index,
                name,
                deadline_ns,
                cases,
            }
        })
        .collect()
}

/// A task's deadline and distribution in a case; `None` when it has no response time there.
fn task_case<'a>(run: &CaseRun, case: &'a CaseSummary, name: &str) -> Option<(u64, TaskCase<'a>)> {
    let tasks = &case.statistics.as_ref()?.tasks;
    let index = tasks.iter().position(|task| task.task == name)?;
    let response = tasks[index].response.as_ref()?;
    let task = &run.case.tasks[index];
    let judged = |job: &&Job| job.response_ns().is_some() || job.missed(task, run.end_ns);
    let judged = run.jobs[index].iter().filter(judged).count() as f64;
    let cdf = Cdf {
        response_ns: response.cdf.iter().map(|point| point.value_ns).collect(),
        share: response
            .cdf
            .iter()
            .map(|point| point.count as f64 / judged)
            .collect(),
    };
    Some((
        task.deadline_ns,
        TaskCase {
            case: &case.name,
            cdf,
            r#box: &response.box_plot,
        },
    ))
}

/// Names that have a colour of their own, by first appearance in the record.
struct Colours<'a> {
    gangs: Vec<&'a str>,
    best_effort: Vec<&'a str>,
}

/// Greys that best-effort work is told apart by.
const SHADES: usize = 4;

impl<'a> Colours<'a> {
    fn of(report: &'a Report) -> Self {
        let cases = || report.readable_cases().map(|(run, _)| &run.case);
        let gangs = cases().flat_map(|case| &case.gangs);
        let threads = cases().flat_map(|case| &case.threads);
        let best_effort = threads.filter(|thread| thread.task.is_none());
        Colours {
            gangs: each_once(gangs.map(|gang| gang.name.as_str())),
            best_effort: each_once(best_effort.map(|thread| work_name(&thread.name))),
        }
    }

    fn group_of(&self, run: &CaseRun, thread: u16) -> Group {
        let position =
            |names: &[&str], name: &str| names.iter().position(|&n| n == name).unwrap_or(0);
        match run.gang_of(thread) {
            Some(gang) => Group {
                name: gang.name.clone(),
                gang: Some(position(&self.gangs, &gang.name)),
                shade: 0,
            },
            None => {
                let name = work_name(run.thread_name(thread));
                let shade = position(&self.best_effort, name) % SHADES;
                Group {
                    name: format!("{name} (best-effort)"),
                    gang: None,
                    shade,
                }
            }
        }
    }
}

fn timeline<'a>(run: &'a CaseRun, summary: &'a CaseSummary, colours: &Colours) -> Timeline<'a> {
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of_thread = Vec::new();
    for thread in 0..run.case.threads.len() as u16 {
        let group = colours.group_of(run, thread);
        let index = groups
            .iter()
            .position(|known| *known == group)
            .unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            });
        group_of_thread.push(index);
    }
    let threads = run.case.threads.iter().zip(&group_of_thread);
    let (cores, budget_levels, resolution_ns) = cores(run);
    Timeline {
        case: &run.case.name,
        duration_ns: run.end_ns,
        threads: threads
            .map(|(thread, &group)| Thread {
                name: &thread.name,
                group,
            })
            .collect(),
        tasks: (0..run.case.tasks.len() as u16)
            .map(|task| {
                let thread = run.threads_of_task(task).next();
                jobs(
                    run,
                    task,
                    thread.map_or(0, |thread| group_of_thread[usize::from(thread)]),
                )
            })
            .collect(),
        groups,
        cores,
        budget_levels,
        bandwidth: summary
            .statistics
            .iter()
            .flat_map(|statistics| &statistics.cores)
            .map(bandwidth)
            .collect(),
        resolution_ns,
    }
}

fn jobs(run: &CaseRun, index: u16, group: usize) -> TaskJobs<'_> {
    let task = &run.case.tasks[usize::from(index)];
    let mut jobs = Jobs::default();
    for (number, job) in run.jobs[usize::from(index)]
        .iter()
        .take(MOST_JOBS)
        .enumerate()
    {
        jobs.job.push(number);
        jobs.released_ns.push(job.released_ns);
        jobs.finished_ns.push(match job.end {
            JobEnd::Finished(time_ns) | JobEnd::Dropped(time_ns) => Some(time_ns),
            JobEnd::Unfinished => None,
        });
        jobs.missed.push(u8::from(job.missed(task, run.end_ns)));
    }
    TaskJobs {
        name: &task.name,
        group,
        period_ns: task.period_ns,
        deadline_ns: task.deadline_ns,
        jobs,
    }
}

/// The cores, what the numbers in their budget slices stand for, and the resolution.
fn cores(run: &CaseRun) -> (Vec<Core>, Vec<u64>, u64) {
    let ran = run.cores.iter().map(|core| {
        let slice = |on: &Occupation| Slice {
            start_ns: on.from_ns,
            end_ns: on.to_ns,
            what: on.thread,
        };
        core.occupations.iter().map(slice).collect()
    });
    let throttled = run.cores.iter().map(|core| {
        let slice = |t: &Throttle| Slice {
            start_ns: t.from_ns,
            end_ns: t.to_ns,
            what: 0,
        };
        core.throttles.iter().map(slice).collect()
    });
    let mut levels = Vec::new();
    let period_ns = run
        .case
        .claims
        .budgets
        .as_ref()
        .map(|claim| claim.period_ns);
    let budgets = run
        .cores
        .iter()
        .map(|core| {
            core.budgets
                .iter()
                .filter_map(|b| budget_slice(b, period_ns?, &mut levels))
                .collect()
        })
        .collect();
    let (ran, ran_ns) = thin(ran.collect(), MOST_SLICES);
    let (throttled, throttled_ns) = thin(throttled.collect(), MOST_SLICES);
    let (budgets, budgets_ns) = thin(budgets, MOST_SLICES);
    let cores = ran
        .iter()
        .zip(&throttled)
        .zip(&budgets)
        .map(|((ran, throttled), budgets)| Core {
            slices: Slices::pack(ran),
            throttled: Slices::pack(throttled),
            budgets: Slices::pack(budgets),
        })
        .collect();
    (cores, levels, ran_ns.max(throttled_ns).max(budgets_ns))
}

/// A limited read budget as a slice of its level; new levels are added.
fn budget_slice(budget: &BudgetInForce, period_ns: u64, levels: &mut Vec<u64>) -> Option<Slice> {
    let level = per_second(budget.read_bytes?, period_ns);
    let what = levels
        .iter()
        .position(|&known| known == level)
        .unwrap_or_else(|| {
            levels.push(level);
            levels.len() - 1
        });
    Some(Slice {
        start_ns: budget.from_ns,
        end_ns: budget.to_ns,
        what: u16::try_from(what).ok()?,
    })
}

fn bandwidth(core: &CoreStatistics) -> Bandwidth {
    let mut bandwidth = Bandwidth::default();
    for point in &core.bandwidth {
        let length_ns = point.to_ns - point.from_ns;
        bandwidth.start_ns.push(point.from_ns);
        bandwidth.length_ns.push(length_ns);
        bandwidth
            .all
            .push(per_second(point.read_bytes + point.write_bytes, length_ns));
        bandwidth
            .best_effort_read
            .push(per_second(point.best_effort_read_bytes, length_ns));
        bandwidth
            .best_effort_write
            .push(per_second(point.best_effort_write_bytes, length_ns));
    }
    bandwidth
}

fn per_second(bytes: u64, time_ns: u64) -> u64 {
    (bytes as f64 * 1e9 / time_ns.max(1) as f64).round() as u64
}

impl Slices {
    fn pack(slices: &[Slice]) -> Self {
        let mut packed = Slices::default();
        let mut time_ns = 0;
        for slice in slices {
            packed.gap_ns.push(slice.start_ns - time_ns);
            packed.length_ns.push(slice.end_ns - slice.start_ns);
            packed.what.push(slice.what);
            time_ns = slice.end_ns;
        }
        packed
    }
}
