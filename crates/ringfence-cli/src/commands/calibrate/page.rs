//! The comparison as text and as a page.

use super::compare::{Alone, Compared, Comparison};

/// For the terminal.
pub fn text(comparison: &Comparison) -> String {
    let mut text = format!(
        "{}\n\nalone, ns an access\n{:<16}{:>12}{:>18}{:>10}{:>9}\n",
        comparison.machine, "", "measured", "half of rounds", "model", "error"
    );
    for lone in &comparison.alone {
        let seen = &lone.measured.alone_ns;
        text += &format!(
            "{:<16}{:>12.2}{:>18}{:>10.2}{:>9}\n",
            lone.program,
            seen.median,
            format!("{:.2} to {:.2}", seen.lower, seen.upper),
            lone.model_ns,
            percent(lone.error)
        );
    }
    text += &format!(
        "\nslowdown\n{:<16}{:<18}{:>10}{:>18}{:>11}{:>9}\n",
        "victim", "aggressor", "measured", "half of rounds", "predicted", "error"
    );
    for pair in &comparison.pairs {
        let seen = &pair.measured.factor;
        text += &format!(
            "{:<16}{:<18}{:>10.3}{:>18}{:>11.3}{:>9}\n",
            pair.victim,
            pair.aggressor,
            seen.median,
            format!("{:.3} to {:.3}", seen.lower, seen.upper),
            pair.predicted,
            percent(pair.error)
        );
    }
    text + "\n" + &summary(comparison) + "\n"
}

fn summary(comparison: &Comparison) -> String {
    let noise = comparison
        .alone
        .iter()
        .map(|lone| lone.measured.factor.upper - lone.measured.factor.lower);
    let seen = &comparison.disturbance;
    format!(
        "Error of the predicted slowdown: {} in the median, {} at most; predicting no slowdown \
         at all would have an error of {} in the median. {} of {} predictions lie where half of \
         the rounds do. Beside nothing, half of the rounds lie within {:.3} of each other: that \
         is the noise of the measurement. {} of {} rounds were thrown away because other work \
         came between; the load average reached {:.2}, and the hypervisor took {} ms.",
        percent(comparison.median_error).trim_start_matches('+'),
        percent(comparison.largest_error).trim_start_matches('+'),
        percent(comparison.median_error_of_none).trim_start_matches('+'),
        comparison.within_noise,
        comparison.pairs.len(),
        noise.fold(0.0, f64::max),
        seen.slices_dropped,
        seen.slices_dropped + seen.slices_kept,
        seen.load,
        seen.stolen_ms
    )
}

/// A page of the book.
pub fn markdown(comparison: &Comparison) -> String {
    let alone: String = comparison.alone.iter().map(alone_row).collect();
    let pairs: String = comparison.pairs.iter().map(pair_row).collect();
    let control: String = comparison.alone.iter().map(control_row).collect();
    let warnings: String = comparison
        .warnings
        .iter()
        .map(|warning| format!("**Warning:** {warning}.\n\n"))
        .collect();
    format!(
        "# Calibration: predicted and measured slowdown

Written by `ringfence calibrate --compare FILE --markdown PAGE`; do not edit.
[Measure your own machine](../adding-a-platform.md#measure-your-own-machine) says how, and
what such figures can and cannot show.

Machine: {machine}.

{warnings}{summary}

## Alone

Nanoseconds of one access, one a cache line. The model's parameters come from such
measurements, so this shows how well they carry over to the model.

| program | array, MiB | measured | half of the rounds | model | error |
|---|---|---|---|---|---|
{alone}
## Side by side

The victim runs on one core, the aggressor on another. Each round takes the victim's time
alone and then beside the aggressor; the slowdown of a round is the second over the
first. The median over the rounds is compared with the slowdown of the same programs on
the model. The platform file is used as it was written, and no figure of it comes from one
of these pairs.

| victim | aggressor | measured | half of the rounds | all rounds | predicted | error |
|---|---|---|---|---|---|---|
{control}{pairs}
## The platform file

```toml
{file}```
",
        machine = comparison.machine,
        summary = summary(comparison),
        file = comparison.platform_file,
    )
}

fn alone_row(lone: &Alone) -> String {
    let seen = &lone.measured.alone_ns;
    format!(
        "| {} | {:.1} | {:.2} | {:.2} to {:.2} | {:.2} | {} |\n",
        lone.program,
        lone.array_bytes as f64 / f64::from(1 << 20),
        seen.median,
        seen.lower,
        seen.upper,
        lone.model_ns,
        percent(lone.error)
    )
}

fn control_row(lone: &Alone) -> String {
    row(lone.program, "nothing", &lone.measured.factor, "", "")
}

fn pair_row(pair: &Compared) -> String {
    row(
        pair.victim,
        pair.aggressor,
        &pair.measured.factor,
        &format!("{:.3}", pair.predicted),
        &percent(pair.error),
    )
}

fn row(
    victim: &str,
    aggressor: &str,
    factor: &ringfence_calibrate::statistics::Spread,
    predicted: &str,
    error: &str,
) -> String {
    format!(
        "| {victim} | {aggressor} | {:.3} | {:.3} to {:.3} | {:.3} to {:.3} | {predicted} | {error} |\n",
        factor.median, factor.lower, factor.upper, factor.least, factor.most
    )
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}
