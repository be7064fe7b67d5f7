//! `ringfence import-run`: a record of a run that ringfence did not make.

use std::path::Path;

use ringfence_import::{Imported, import};
use ringfence_record::event::Event;
use ringfence_record::{WriteError, Writer};
use serde::Serialize;

use crate::arguments::ImportRun;
use crate::files::{print_json, write_whole};
use crate::inputs::Inputs;
use crate::outcome::{Failure, Outcome};

/// What a record has.
#[derive(Debug, Default, Serialize)]
struct Contents {
    cases: u64,
    jobs: u64,
    positions: u64,
    true_positions: u64,
    values: u64,
}

/// Writes the record; what it says is for `ringfence report` to judge.
pub fn run(arguments: &ImportRun) -> Result<Outcome, Failure> {
    let output = &arguments.output;
    if arguments.json && output == Path::new("-") {
        return Err(Failure::Error(
            "--output: found '-', which is where --json prints; expected a file".into(),
        ));
    }
    let inputs = Inputs::default();
    let made = import(&arguments.description, env!("CARGO_PKG_VERSION"), &inputs);
    let mut made = made.map_err(|error| Failure::Error(error.to_string()))?;
    made.header.inputs = inputs.into_read();
    write_whole(output, |out| {
        let mut writer = Writer::new(out, &made.header)?;
        for event in &made.events {
            writer.write(event)?;
        }
        writer.finish()?;
        Ok::<_, WriteError>(())
    })?;
    let contents = Contents::of(&made);
    if arguments.json {
        print_json(&serde_json::json!({ "record": output, "contents": contents }))?;
    } else {
        eprintln!(
            "record: {}: {} cases, {} jobs, {} positions, {} true positions, {} values",
            output.display(),
            contents.cases,
            contents.jobs,
            contents.positions,
            contents.true_positions,
            contents.values
        );
    }
    Ok(Outcome::Pass)
}

impl Contents {
    fn of(made: &Imported) -> Self {
        let mut contents = Self::default();
        for event in &made.events {
            match event {
                Event::CaseBegin(_) => contents.cases += 1,
                Event::JobReleased { .. } => contents.jobs += 1,
                Event::Position { .. } => contents.positions += 1,
                Event::TruePosition { .. } => contents.true_positions += 1,
                Event::Measured { .. } => contents.values += 1,
                _ => {}
            }
        }
        contents
    }
}
