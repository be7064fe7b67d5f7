//! `ringfence plan`: what a run would do.

use ringfence_analysis::cache_share::ranges;
use ringfence_analysis::duration::readable;
use ringfence_hyp::image::Configuration;
use ringfence_linux::run::Mode;
use ringfence_scenario::model::{Case, Scenario};
use ringfence_scenario::{Disk, quantity};
use ringfence_target::plan::{BudgetPlan, CasePlan, Plan, RegulatedBy, ReservationPlan, VmPlan};
use serde::Serialize;

use crate::arguments;
use crate::commands::selection;
use crate::commands::target::{Target, linux_failure};
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Plans the selected cases.
pub fn run(arguments: &arguments::Plan) -> Result<Outcome, Failure> {
    let scenario = selection::load(&arguments.selection, &Disk)?;
    let target = Target::of(&arguments.target, &scenario)?;
    show(&scenario, &target, arguments.json)
}

/// Prints the plan of a scenario.
pub fn show(scenario: &Scenario, target: &Target, json: bool) -> Result<Outcome, Failure> {
    let plan = target.plan(scenario)?;
    let built = match target {
        Target::Hyp => ringfence_hyp::run::plan(scenario)?,
        Target::Sim | Target::Linux(_) => Vec::new(),
    };
    let changes = changes(scenario, target)?;
    if json {
        print_json(&WholePlan {
            images: built.iter().map(ImagePlan::of).collect(),
            changes,
            plan,
        })?;
    } else {
        print_text(&text(&plan, target))?;
        for image in &built {
            let image = ImagePlan::of(image);
            let command = image.command.unwrap_or_else(|| {
                "not run here: `ringfence hyp image --format raw` makes the image for the board"
                    .into()
            });
            print_text(&format!("\n{}\n{command}\n", image.table))?;
        }
        for changes in &changes {
            print_text(&changes.text())?;
        }
    }
    Ok(Outcome::Pass)
}

/// A plan, what a hypervisor would be built with, and what a machine would be changed in.
#[derive(Debug, Serialize)]
struct WholePlan {
    #[serde(flatten)]
    plan: Plan,
    /// One for each case; none on other targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<ImagePlan>,
    /// One for each case; none on other targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Changes>,
}

/// What a case would change on this machine beside its own processes.
#[derive(Debug, Serialize)]
struct Changes {
    /// Name of the case.
    case: String,
    /// In order, a line each.
    changes: Vec<String>,
}

impl Changes {
    fn text(&self) -> String {
        let nothing = match self.changes.is_empty() {
            true => " nothing",
            false => "",
        };
        let mut text = format!(
            "\n{} changes on this machine, and undoes at its end:{nothing}\n",
            self.case
        );
        for change in &self.changes {
            text += &format!("  {change}\n");
        }
        text
    }
}

fn changes(scenario: &Scenario, target: &Target) -> Result<Vec<Changes>, Failure> {
    let Target::Linux(linux) = target else {
        return Ok(Vec::new());
    };
    let of_case = |case: &Case| {
        let changes = ringfence_linux::run::changes(scenario, case, linux.mode);
        let changes = changes
            .map_err(|error| linux_failure(error, |error| Failure::Error(error.to_string())))?;
        Ok(Changes {
            case: case.name.clone(),
            changes,
        })
    };
    scenario.cases.iter().map(of_case).collect()
}

/// An image that would be built and run.
#[derive(Debug, Serialize)]
struct ImagePlan {
    /// The table of the hypervisor, a C source.
    table: String,
    /// How it would be run; none for boards that cannot be run here.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

impl ImagePlan {
    fn of(configuration: &Configuration) -> Self {
        Self {
            table: configuration.table(),
            command: ringfence_hyp::run::command_line(configuration),
        }
    }
}

fn text(plan: &Plan, target: &Target) -> String {
    let (place, simulated) = match target {
        Target::Hyp => (format!("the hypervisor on {}", plan.platform), ""),
        Target::Sim => (format!("the modelled {}", plan.platform), " simulated"),
        Target::Linux(linux) => {
            let (mode, wake_ups) = (linux.mode, linux.wake_ups);
            let how = match linux.mode {
                Mode::SchedExt => mode.to_string(),
                Mode::Portable => format!("{mode} ({wake_ups})"),
            };
            (format!("this machine, gangs by {how}"), "")
        }
    };
    let mut text = format!(
        "{} on {place}: {} cases of {}{simulated}, seed {}\n",
        plan.scenario,
        plan.cases.len(),
        readable(plan.duration_ns),
        plan.seed
    );
    for case in &plan.cases {
        text += &case_text(case);
    }
    text
}

fn case_text(case: &CasePlan) -> String {
    let mut text = format!("\n{}: {} scheduling", case.name, case.scheduling);
    if let Some(budgets) = &case.claims.budgets {
        text += &format!(
            ", budgets refilled every {}, at most {} over in a period",
            readable(budgets.period_ns),
            quantity::SIZE.format(budgets.quantum_bytes)
        );
    }
    text.push('\n');
    for class in &case.classes_of_service {
        text += &format!(
            "  class of service {}: ways {}, colours {}\n",
            class.name,
            ranges(&class.ways),
            ranges(&class.colours)
        );
    }
    for vm in &case.vms {
        text += &vm_text(vm);
    }
    for gang in &case.gangs {
        text += &format!(
            "  gang {} (partition {}, priority {}): read {}, write {}\n",
            gang.name,
            gang.partition,
            gang.priority,
            budget_text(&gang.read, case.regulated_by),
            budget_text(&gang.write, case.regulated_by)
        );
    }
    for thread in &case.threads {
        let class = thread.class_of_service.as_ref();
        text += &format!(
            "  thread {} ({}): core {}{}\n",
            thread.name,
            thread.gang.as_deref().unwrap_or("best effort"),
            ranges(&thread.cores),
            class.map_or_else(String::new, |class| format!(", class of service {class}"))
        );
    }
    text
}

fn vm_text(vm: &VmPlan) -> String {
    let reserved = vm.reservation.as_ref().map(|reservation| {
        let requested = reservation
            .requested_bytes_per_second
            .map(|rate| format!("{} requested, ", quantity::BANDWIDTH.format(rate)));
        let shares = reservation.shares_events.iter().map(u64::to_string);
        format!(
            "{}{} events every {}, split {}{}",
            requested.unwrap_or_default(),
            reservation.applied_events_per_period,
            readable(reservation.period_ns),
            shares.collect::<Vec<_>>().join(" + "),
            run_time_text(reservation)
        )
    });
    let cores = vm.cores.iter().map(u16::to_string);
    let colours = vm.colours.as_deref();
    let colours = colours.map(|colours| format!("; memory of colours {}", ranges(colours)));
    format!(
        "  VM {}: cores {}: {}{}\n",
        vm.name,
        cores.collect::<Vec<_>>().join(", "),
        reserved.unwrap_or_else(|| "no reservation".into()),
        colours.unwrap_or_default()
    )
}

/// What a reservation may become while the VM runs.
fn run_time_text(reservation: &ReservationPlan) -> String {
    let mut text = String::new();
    if reservation.lends {
        text += "; lends";
    }
    if reservation.borrows_events > 0 {
        text += &format!("; borrows {} events at once", reservation.borrows_events);
    }
    if let Some(changes) = &reservation.changes {
        let [least, most] = changes.events_per_period;
        let [shortest_ns, longest_ns] = changes.period_ns;
        text += &format!(
            "; {} may change it to {least} to {most} events every {} to {}",
            changes.by.join(", "),
            readable(shortest_ns),
            readable(longest_ns)
        );
    }
    text
}

fn budget_text(budget: &BudgetPlan, regulated_by: RegulatedBy) -> String {
    let Some(requested) = budget.requested_bytes_per_second else {
        return "unlimited".into();
    };
    let applied = match (
        regulated_by,
        budget.applied_lines_per_period,
        budget.applied_bytes_per_second,
    ) {
        (RegulatedBy::Traffic, Some(lines), Some(applied)) => format!(
            "{} applied ({lines} lines a period)",
            quantity::BANDWIDTH.format(applied)
        ),
        (RegulatedBy::Time, ..) => {
            "applied as a share of time that the run measures (duty cycle)".into()
        }
        (RegulatedBy::Events, ..) => {
            "applied as PMU events that the run proves to count traffic, or else \
            as a share of time (duty cycle)"
                .into()
        }
        _ => "not applied".into(),
    };
    format!(
        "{} requested, {applied}",
        quantity::BANDWIDTH.format(requested)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringfence_record::event::Claims;
    use std::path::Path;

    /// The cases `co-run` and `rt-gang` of the demo, as a target plans them that regulates so.
    fn gang_texts(regulated_by: RegulatedBy) -> Vec<String> {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/demo.toml");
        let mut scenario = ringfence_scenario::load(&demo).unwrap();
        scenario.cases.retain(|case| case.gangs.len() == 2);
        let plan = Plan::of(&scenario, regulated_by, |_| Claims {
            one_gang_at_a_time: true,
            ..Claims::default()
        });
        let cases = plan.unwrap().cases;
        cases.iter().map(case_text).collect()
    }

    #[test]
    fn a_tolerance_says_what_it_is_applied_as() {
        for (regulated_by, applied) in [
            (RegulatedBy::Nothing, "50 MB/s requested, not applied"),
            (
                RegulatedBy::Traffic,
                "50 MB/s requested, 49984 KB/s applied (781 lines a period)",
            ),
            (
                RegulatedBy::Time,
                "50 MB/s requested, applied as a share of time that the run measures (duty cycle)",
            ),
        ] {
            let [co_run, rt_gang] = &gang_texts(regulated_by)[..] else {
                panic!("two cases");
            };
            assert!(
                co_run.contains("50 MB/s requested, not applied"),
                "{co_run}"
            );
            assert!(rt_gang.contains(applied), "{rt_gang}");
            assert_eq!(
                rt_gang.contains("lines"),
                regulated_by == RegulatedBy::Traffic
            );
        }
    }
}
