//! Programs side by side: here, and on the model.

use std::path::Path;

use ringfence_calibrate::disturbance::{Disturbance, Watch};
use ringfence_calibrate::measure::{self, Arrays, Effort};
use ringfence_calibrate::pairs::{self, Pair, Slowdown};
use ringfence_calibrate::statistics::Spread;
use ringfence_scenario::parse_platform;
use ringfence_scenario::platform::Platform;
use ringfence_workloads::inventory::Inventory;
use serde::Serialize;

use super::{page, refused, simulate, tell};
use crate::arguments::Calibrate;
use crate::files::{print_json, print_text, write_whole};
use crate::outcome::{Failure, Outcome};
use crate::progress::spinner;

/// Version of the JSON form.
const FORMAT: u32 = 1;

/// What was compared.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// [`FORMAT`].
    pub format: u32,
    /// What the platform says that it is.
    pub machine: String,
    /// Text of the platform file.
    #[serde(skip)]
    pub platform_file: String,
    /// Programs alone, by victim.
    pub alone: Vec<Alone>,
    /// Pairs.
    pub pairs: Vec<Compared>,
    /// Median over the pairs of the relative error of the predicted slowdown.
    pub median_error: f64,
    /// The largest of these errors, as a magnitude.
    pub largest_error: f64,
    /// Median error of predicting no slowdown for any pair. A model that does not beat
    /// it has not shown its worth.
    pub median_error_of_none: f64,
    /// Pairs whose prediction is within what half of the rounds showed.
    pub within_noise: usize,
    /// What else ran meanwhile.
    pub disturbance: Disturbance,
    /// What looks wrong.
    pub warnings: Vec<String>,
}

/// A program alone.
#[derive(Debug, Serialize)]
pub struct Alone {
    /// Name.
    pub program: &'static str,
    /// Bytes of its array.
    pub array_bytes: u64,
    /// Nanoseconds of an access, measured ...
    pub measured: Slowdown,
    /// ... and on the model.
    pub model_ns: f64,
    /// How much larger the model's is, as a share.
    pub error: f64,
}

/// A program beside another.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// Name of the victim.
    pub victim: &'static str,
    /// Name of the aggressor.
    pub aggressor: &'static str,
    /// What was measured.
    pub measured: Slowdown,
    /// Slowdown of the victim on the model.
    pub predicted: f64,
    /// How much larger the prediction is than the measured median, as a share.
    pub error: f64,
}

/// Measures, simulates and prints.
pub fn run(
    arguments: &Calibrate,
    path: &Path,
    inventory: &Inventory,
    effort: Effort,
) -> Result<Outcome, Failure> {
    let name = path.display().to_string();
    let platform_file =
        std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
    let platform = parse_platform(&platform_file, &name)?;
    let (cpus, pairs) = plan(&platform, &name, inventory)?;
    let llc_bytes = inventory.modelled().map_or(0, |(_, llc)| llc.size_bytes);
    let line = spinner(arguments.quiet);
    let mut watch = Watch::start();
    let mut measured = Vec::new();
    for (done, pair) in pairs.iter().enumerate() {
        tell(
            &line,
            &format!("pair {} of {}: {}", done + 1, pairs.len(), title(pair)),
        );
        measured.push(pairs::measure(pair, cpus, llc_bytes, effort, &mut watch).map_err(refused)?);
    }
    let disturbance = watch.stop();
    let mut model_ns = Vec::new();
    for (done, pair) in pairs.iter().enumerate() {
        tell(
            &line,
            &format!("model {} of {}: {}", done + 1, pairs.len(), title(pair)),
        );
        let simulated = simulate::pair_ns(&platform, pair);
        model_ns.push(simulated.map_err(|error| Failure::Error(error.to_string()))?);
    }
    line.finish_and_clear();
    let mut comparison = compare(&pairs, measured, &model_ns);
    comparison.machine = platform.description;
    comparison.platform_file = platform_file;
    comparison.disturbance = disturbance;
    comparison.warnings = measure::disturbed(&disturbance, inventory)
        .into_iter()
        .collect();
    if let Some(markdown) = &arguments.markdown {
        write_whole(markdown, |output| {
            output.write_all(page::markdown(&comparison).as_bytes())
        })?;
    }
    match arguments.json {
        true => print_json(&comparison)?,
        false => print_text(&page::text(&comparison))?,
    }
    for warning in &comparison.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(Outcome::Pass)
}

/// Two processors, and what runs on them.
fn plan(
    platform: &Platform,
    name: &str,
    inventory: &Inventory,
) -> Result<([u16; 2], Vec<Pair>), Failure> {
    let Some(memory) = &platform.memory else {
        return Err(Failure::Error(format!(
            "{name}: found a platform without [memory], expected one with caches to compare"
        )));
    };
    let &[first, second, ..] = &inventory.cpus[..] else {
        return Err(Failure::Unsupported(format!(
            "a comparison runs two programs side by side, and this process may use {} core; \
             give it a second one",
            inventory.cpus.len()
        )));
    };
    if platform.cores < 2 {
        return Err(Failure::Error(format!(
            "{name}: found a platform with 1 core, expected at least 2 to run programs side by side"
        )));
    }
    let Some((private, llc)) = inventory.modelled() else {
        return Err(Failure::Unsupported(
            "the system shows fewer than two levels of caches, so that nobody knows which array \
             lies where; run this on the machine itself, or let its virtual machine see them"
                .into(),
        ));
    };
    let arrays = Arrays::of(private, llc, inventory.memory_bytes, 2);
    // The smallest array outside the private cache: others may leave little of the last level.
    let sizes = arrays.within(private.size_bytes * 2, private, 2);
    Ok((
        [first, second],
        pairs::pairs(&sizes, memory.line_bytes.into()),
    ))
}

fn title(pair: &Pair) -> String {
    let beside = pair.aggressor.as_ref();
    let victim = pair.victim.name;
    beside.map_or_else(
        || format!("{victim} alone"),
        |aggressor| format!("{victim} beside {}", aggressor.name),
    )
}

/// Puts both sides next to each other. The pair of a victim and nothing comes before its others.
fn compare(pairs: &[Pair], measured: Vec<Slowdown>, model_ns: &[f64]) -> Comparison {
    let (mut alone, mut compared): (Vec<Alone>, Vec<Compared>) = (Vec::new(), Vec::new());
    for ((pair, measured), &model_ns) in pairs.iter().zip(measured).zip(model_ns) {
        let victim = pair.victim.name;
        match (&pair.aggressor, alone.last()) {
            (Some(aggressor), Some(lone)) => {
                let predicted = model_ns / lone.model_ns;
                compared.push(Compared {
                    victim,
                    aggressor: aggressor.name,
                    predicted,
                    error: predicted / measured.factor.median - 1.0,
                    measured,
                });
            }
            _ => alone.push(Alone {
                program: victim,
                array_bytes: pair.victim.shape.size_bytes,
                error: model_ns / measured.alone_ns.median - 1.0,
                measured,
                model_ns,
            }),
        }
    }
    let errors = |error: fn(&Compared) -> f64| {
        let errors: Vec<f64> = compared.iter().map(|pair| error(pair).abs()).collect();
        (!errors.is_empty()).then(|| Spread::of(errors))
    };
    let predicted = errors(|pair| pair.error);
    let none = errors(|pair| 1.0 / pair.measured.factor.median - 1.0);
    let within = |pair: &&Compared| {
        let factor = &pair.measured.factor;
        (factor.lower..=factor.upper).contains(&pair.predicted)
    };
    Comparison {
        format: FORMAT,
        machine: String::new(),
        platform_file: String::new(),
        median_error: predicted.map_or(0.0, |errors| errors.median),
        largest_error: predicted.map_or(0.0, |errors| errors.most),
        median_error_of_none: none.map_or(0.0, |errors| errors.median),
        within_noise: compared.iter().filter(within).count(),
        alone,
        pairs: compared,
        disturbance: Disturbance::default(),
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringfence_calibrate::figures::Levels;

    /// Measured: twice as slow beside anything. Model: two and a half times.
    #[test]
    fn errors_are_of_the_slowdown_and_not_of_the_time() {
        let sizes = Levels {
            private: 1 << 14,
            llc: 1 << 18,
            dram: 1 << 22,
        };
        let pairs = pairs::pairs(&sizes, 64);
        let measured = pairs.iter().map(|pair| {
            let factor = if pair.aggressor.is_some() { 2.0 } else { 1.0 };
            Slowdown {
                alone_ns: Spread::of(vec![10.0]),
                beside_ns: Spread::of(vec![10.0 * factor]),
                factor: Spread::of(vec![factor]),
            }
        });
        let model_ns: Vec<f64> = pairs
            .iter()
            .map(|pair| if pair.aggressor.is_some() { 50.0 } else { 20.0 })
            .collect();
        let comparison = compare(&pairs, measured.collect(), &model_ns);
        assert_eq!((comparison.alone.len(), comparison.pairs.len()), (4, 18));
        assert!(comparison.alone.iter().all(|lone| lone.error == 1.0));
        assert!(
            comparison
                .pairs
                .iter()
                .all(|pair| pair.predicted == 2.5 && pair.error == 0.25)
        );
        assert_eq!(
            (comparison.median_error, comparison.largest_error),
            (0.25, 0.25)
        );
        assert_eq!(comparison.median_error_of_none, 0.5);
        assert_eq!(comparison.within_noise, 0);
    }
}
