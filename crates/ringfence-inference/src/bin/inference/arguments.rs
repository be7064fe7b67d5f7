//! The command line, and the network that it asks for.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Parser;
use ringfence_scenario::model::{Program, Scenario};
use ringfence_scenario::network::NeuralNetwork;
use ringfence_scenario::quantity::parse_command_line_time;

/// Computes a neural network job by job and prints what its jobs took. The library is rten.
#[derive(Debug, Parser)]
#[command(name = "inference", version)]
pub struct Arguments {
    /// An ONNX model, or a scenario file (.toml) with a task of kind `neural_network`
    pub network: PathBuf,
    /// Which task of the scenario [default: the only one with a network]
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// Threads that compute it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// How many jobs are released
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub jobs: u32,
    /// Release one each time this has passed, such as 50ms; one that still runs has the next
    /// dropped [default: each after the one before it]
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub period: Option<u64>,
    /// Of random weights and inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Under `ringfence enforce`, the task's place in its gang: 0 is the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub task_number: u32,
    /// Write the model of the scenario's network here, as ONNX, and compute nothing
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

fn period(text: &str) -> Result<u64, String> {
    // Shorter ones are over before a job is marked, longer ones nobody waits for.
    const ALLOWED_NS: RangeInclusive<u64> = 10_000..=3_600_000_000_000;
    let period_ns = parse_command_line_time(text)?;
    match ALLOWED_NS.contains(&period_ns) {
        true => Ok(period_ns),
        false => Err(format!("found {text:?}, expected a time from 10us to 60m")),
    }
}

impl Arguments {
    /// Whether the network is one of a scenario.
    pub fn is_scenario(&self) -> bool {
        self.network
            .extension()
            .is_some_and(|ending| ending == "toml")
    }

    /// The scenario's network.
    pub fn scenario_network(&self) -> Result<NeuralNetwork, String> {
        let path = self.network.display();
        let scenario =
            ringfence_scenario::load(&self.network).map_err(|found| found.to_string())?;
        let mut networks = networks(&scenario);
        if let Some(name) = &self.task {
            let found = networks.iter().position(|(task, _)| *task == name);
            return match found {
                Some(place) => Ok(networks.swap_remove(place).1.clone()),
                None => Err(format!(
                    "{path}: no task {name:?} of kind neural_network; expected {}",
                    list(&networks)
                )),
            };
        }
        match networks[..] {
            [(_, network)] => Ok(network.clone()),
            [] => Err(format!(
                "{path}: no task of kind neural_network; expected one, or an ONNX file"
            )),
            _ => Err(format!(
                "{path}: several networks; expected --task with {}",
                list(&networks)
            )),
        }
    }
}

/// Names and networks of all tasks that have one.
fn networks(scenario: &Scenario) -> Vec<(&String, &NeuralNetwork)> {
    let tasks = scenario.gangs.iter().flat_map(|gang| &gang.tasks);
    tasks
        .filter_map(|task| match &task.program {
            Program::NeuralNetwork(network) => Some((&task.name, network)),
            _ => None,
        })
        .collect()
}

fn list(networks: &[(&String, &NeuralNetwork)]) -> String {
    let names: Vec<String> = networks
        .iter()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    match names.is_empty() {
        true => "a scenario with one".to_owned(),
        false => names.join(" or "),
    }
}
