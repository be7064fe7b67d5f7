//! Computes a neural network, job by job, by an inference library.

mod arguments;
mod report;

use std::process::ExitCode;

use arguments::Arguments;
use clap::Parser as _;
use report::Report;
use ringfence_inference::network::Network;
use ringfence_inference::onnx;
use ringfence_scenario::model::Overrun;
use ringfence_victims::command;
use ringfence_workloads::clock;
use ringfence_workloads::job_log::{Jobs, Kind, ThreadJobs};
use ringfence_workloads::program::neural_network::input_values;
use ringfence_workloads::report::Report as _;
use ringfence_workloads::runner::Schedule;

fn main() -> ExitCode {
    command::exit("inference", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let Some(network) = network(arguments)? else {
        return Ok(());
    };
    let mut log = Jobs::from_environment()
        .and_then(|jobs| jobs.register(arguments.task_number))
        .map_err(|error| error.to_string())?;
    let report = run_jobs(&network, arguments, &mut log)?;
    report.print(arguments.json)
}

/// The network that is asked for; none where its model was only to be written.
fn network(arguments: &Arguments) -> Result<Option<Network>, String> {
    let path = arguments.network.display();
    let load = |model| {
        Network::load(model, arguments.threads, arguments.seed)
            .map_err(|error| format!("{path}: {error}"))
    };
    if !arguments.is_scenario() {
        if arguments.task.is_some() || arguments.output.is_some() {
            return Err(format!(
                "{path}: --task and --output are for the network of a scenario; expected a file that ends in .toml"
            ));
        }
        let model = std::fs::read(&arguments.network);
        return load(model.map_err(|error| format!("{path}: {error}"))?).map(Some);
    }
    let network = arguments.scenario_network()?;
    let model =
        onnx::model(&network, arguments.seed).map_err(|error| format!("{path}: {error}"))?;
    if let Some(output) = &arguments.output {
        return std::fs::write(output, model)
            .map(|()| None)
            .map_err(|error| format!("{}: {error}", output.display()));
    }
    let mut loaded = load(model)?;
    let shape = network.layers.first().map(|layer| layer.input);
    let values = shape.map_or(0, |shape| shape.points() * u64::from(shape.channels));
    let values = input_values(arguments.seed).take(values as usize);
    let values: Vec<f32> = values.map(|value| value as f32).collect();
    loaded
        .set_input(onnx::input(&network, &values))
        .map_err(|error| format!("{path}: {error}"))?;
    Ok(Some(loaded))
}

/// Releases the jobs, computes and marks them.
fn run_jobs(
    network: &Network,
    arguments: &Arguments,
    log: &mut ThreadJobs,
) -> Result<Report, String> {
    let jobs = u64::from(arguments.jobs);
    let mut report = Report::new(arguments);
    let Some(period_ns) = arguments.period else {
        for job in 0..jobs {
            report.add(run_job(network, log, job, None)?);
        }
        return Ok(report);
    };
    clock::wake_in_time();
    let first_ns = clock::now_ns().saturating_add(period_ns);
    let schedule = Schedule {
        first_ns,
        period_ns,
        end_ns: first_ns.saturating_add(jobs.saturating_mul(period_ns)),
        overrun: Overrun::Skip,
    };
    let mut job = 0;
    while job < schedule.jobs() {
        clock::sleep_until(schedule.release_ns(job));
        report.add(run_job(network, log, job, Some(schedule.release_ns(job)))?);
        let next = schedule.after(job, clock::now_ns()).min(schedule.jobs());
        for dropped in job + 1..next {
            log.mark(Kind::Released, dropped, schedule.release_ns(dropped));
            log.mark(Kind::Dropped, dropped, schedule.release_ns(dropped));
        }
        report.dropped += next - job - 1;
        job = next;
    }
    Ok(report)
}

/// Nanoseconds from its release, or from its begin, to its end.
fn run_job(
    network: &Network,
    log: &mut ThreadJobs,
    job: u64,
    release_ns: Option<u64>,
) -> Result<u64, String> {
    let begin_ns = clock::now_ns();
    let release_ns = release_ns.unwrap_or(begin_ns);
    log.mark(Kind::Released, job, release_ns);
    log.mark(Kind::Begin, job, begin_ns);
    network.run().map_err(|error| error.to_string())?;
    let end_ns = clock::now_ns();
    log.mark(Kind::End, job, end_ns);
    Ok(end_ns - release_ns)
}
