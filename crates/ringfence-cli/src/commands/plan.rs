//! `ringfence plan`: what a run would do.

use ringfence_analysis::cache_share::ranges;
use ringfence_analysis::duration::readable;
use ringfence_scenario::model::Scenario;
use ringfence_scenario::{Disk, quantity};
use ringfence_sim::plan::plan;
use ringfence_target::plan::{BudgetPlan, CasePlan, Plan};

use crate::arguments;
use crate::commands::selection;
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Plans the selected cases.
pub fn run(arguments: &arguments::Plan) -> Result<Outcome, Failure> {
    let scenario = selection::load(&arguments.selection, &Disk)?;
    show(&scenario, arguments.json)
}

/// Prints the plan of a scenario.
pub fn show(scenario: &Scenario, json: bool) -> Result<Outcome, Failure> {
    let plan = plan(scenario).map_err(|error| Failure::Error(error.to_string()))?;
    if json {
        print_json(&plan)?;
    } else {
        print_text(&text(&plan))?;
    }
    Ok(Outcome::Pass)
}

fn text(plan: &Plan) -> String {
    let mut text = format!(
        "{} on the modelled {}: {} cases of {} simulated, seed {}\n",
        plan.scenario,
        plan.platform,
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
    for gang in &case.gangs {
        text += &format!(
            "  gang {} (partition {}, priority {}): read {}, write {}\n",
            gang.name,
            gang.partition,
            gang.priority,
            budget_text(&gang.read),
            budget_text(&gang.write)
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

fn budget_text(budget: &BudgetPlan) -> String {
    let Some(requested) = budget.requested_bytes_per_second else {
        return "unlimited".into();
    };
    let requested = quantity::BANDWIDTH.format(requested);
    match (
        budget.applied_lines_per_period,
        budget.applied_bytes_per_second,
    ) {
        (Some(lines), Some(applied)) => format!(
            "{requested} requested, {} applied ({lines} lines a period)",
            quantity::BANDWIDTH.format(applied)
        ),
        _ => format!("{requested} requested, not applied"),
    }
}
