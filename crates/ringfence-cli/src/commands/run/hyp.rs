//! Runs cases under the hypervisor, in QEMU.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ringfence_hyp::HypError;
use ringfence_hyp::run::{Fault, Observer, RunOptions};
use ringfence_record::Writer;
use ringfence_scenario::model::Scenario;

use crate::arguments::{self, Run};
use crate::progress::CaseBars;

/// Runs every case, shows what its machine prints, and keeps it beside the record.
pub fn run<W: Write>(
    scenario: &Scenario,
    arguments: &Run,
    output: &Path,
    bars: &CaseBars,
    writer: &mut Writer<W>,
) -> Result<(), HypError> {
    let printed = RefCell::new(String::new());
    let keep = |case: usize, console: &str| {
        let mut printed = printed.borrow_mut();
        for line in console.lines() {
            writeln!(printed, "{}: {line}", scenario.cases[case].name).expect("a text grows");
        }
    };
    let options = RunOptions {
        fault: arguments.inject.and_then(|fault| match fault {
            arguments::Fault::OneEventMore => Some(Fault::OneEventMore),
            arguments::Fault::AllBorrow => Some(Fault::AllBorrow),
            arguments::Fault::NoBounds => Some(Fault::NoBounds),
            arguments::Fault::LowerGangRuns | arguments::Fault::NeverThrottle => None,
        }),
        observer: Observer {
            progress: &|case, time_ns| bars.reached(case, time_ns),
            console: &keep,
        },
    };
    let result = ringfence_hyp::run::run(scenario, &options, writer);
    bars.clear();
    let printed = printed.into_inner();
    if !arguments.quiet && !arguments.json {
        eprint!("{printed}");
    }
    let path = console_path(output);
    let kept = fs::write(&path, printed)
        .map_err(|error| HypError::Failed(format!("{}: {error}", path.display())));
    let result = result.map_err(|error| match error {
        HypError::Failed(text) => HypError::Failed(format!(
            "{text}; what the machines printed is in {}",
            path.display()
        )),
        other => other,
    });
    result.and(kept)
}

/// What the machines print goes beside the record: `NAME.rfr.console`.
fn console_path(output: &Path) -> PathBuf {
    let mut name: OsString = output.as_os_str().to_owned();
    name.push(".console");
    name.into()
}
