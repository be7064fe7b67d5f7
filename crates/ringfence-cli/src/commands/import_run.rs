//! `ringfence import-run`: a record of a run that ringfence did not make.

use ringfence_import::import;
use ringfence_record::{WriteError, Writer};

use crate::arguments::ImportRun;
use crate::files::write_whole;
use crate::inputs::Inputs;
use crate::outcome::{Failure, Outcome};

/// Writes the record; what it says is for `ringfence report` to judge.
pub fn run(arguments: &ImportRun) -> Result<Outcome, Failure> {
    let inputs = Inputs::default();
    let made = import(&arguments.description, env!("CARGO_PKG_VERSION"), &inputs);
    let mut made = made.map_err(|error| Failure::Error(error.to_string()))?;
    made.header.inputs = inputs.into_read();
    write_whole(&arguments.output, |out| {
        let mut writer = Writer::new(out, &made.header)?;
        for event in &made.events {
            writer.write(event)?;
        }
        writer.finish()?;
        Ok::<_, WriteError>(())
    })?;
    Ok(Outcome::Pass)
}
