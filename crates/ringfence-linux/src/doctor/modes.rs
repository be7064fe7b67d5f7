//! What all checks together come to: the ways in which gangs can be kept apart here.

use serde::Serialize;

use super::check::{Check, Level};
use super::tracepoints::NAME as TRACEPOINTS;

/// A way in which `--target linux` works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mode {
    /// `sched_ext` or `portable`.
    pub name: &'static str,
    /// Whether it can work here.
    pub works: bool,
    /// What best-effort work can be held to; none if the mode does not work.
    pub regulation: Option<Regulation>,
    /// What is missing for it to work, or to work as it should.
    pub missing: Vec<String>,
}

/// What budgets of best-effort work are counted in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Regulation {
    /// Memory traffic, by events of the PMU that count it.
    PmuEvents {
        /// Their names.
        events: Vec<String>,
    },
    /// Time: it shares out the CPU and measures no traffic.
    DutyCycle,
}

const PORTABLE: &str = "portable";

/// The two modes, the better one first. `traffic` are the events that count memory traffic.
pub fn modes(checks: &[Check], traffic: &[String]) -> Vec<Mode> {
    let mode = |name, needs: &[&str], traffic: &[String]| {
        let unmet = needs
            .iter()
            .filter_map(|need| checks.iter().find(|check| check.name == *need))
            .filter(|check| check.state == Level::Unusable);
        let mut missing: Vec<String> = unmet.map(text).collect();
        let works = missing.is_empty();
        if name == PORTABLE {
            let witness = checks.iter().find(|check| check.name == TRACEPOINTS);
            let witness = witness.filter(|check| check.state == Level::Unusable);
            missing.extend(witness.map(|check| {
                format!(
                    "{} (--wake-ups jobs does without, and nobody records who runs where)",
                    text(check)
                )
            }));
        }
        if works && traffic.is_empty() {
            missing.push(match name {
                PORTABLE => "traffic is counted under sched_ext only".into(),
                _ => "a PMU event that counts memory traffic".into(),
            });
        }
        Mode {
            name,
            works,
            regulation: works.then(|| match traffic {
                [] => Regulation::DutyCycle,
                events => Regulation::PmuEvents {
                    events: events.to_vec(),
                },
            }),
            missing,
        }
    };
    vec![
        mode("sched_ext", &["kernel", "sched_ext", TRACEPOINTS], traffic),
        mode(
            PORTABLE,
            &["kernel", "scheduler classes", "control groups"],
            &[],
        ),
    ]
}

fn text(check: &Check) -> String {
    format!("{}: {}", check.name, check.found)
}
