//! Judges a record file and prints every claim of every case:
//! `cargo run -p ringfence-analysis --example verdict RECORD`. Fails when the
//! record does not pass.

use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use ringfence_analysis::duration::readable;
use ringfence_analysis::run::Run;
use ringfence_analysis::summary::Summary;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a record file")?;
    let summary = Summary::of(&Run::read(File::open(path)?)?);
    for case in &summary.cases {
        println!("{}", case.name);
        for claim in &case.verdict.claims {
            let (kind, outcome) = (claim.kind, claim.outcome);
            let (checked, breaches) = (claim.checked, claim.breaches);
            println!("  {kind:?}: {outcome:?}, {checked} checked, {breaches} breaches");
            if let Some(note) = &claim.note {
                println!("    {note}");
            }
            for breach in claim.evidence.iter().take(3) {
                println!("    at {}: {}", readable(breach.time_ns), breach.text);
            }
        }
    }
    println!("passed: {}", summary.passed);
    Ok(ExitCode::from(u8::from(!summary.passed)))
}
