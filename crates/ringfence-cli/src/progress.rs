//! Progress on standard error, on anything that takes longer than a second.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that counts something whose end is not known.
pub fn spinner(quiet: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, target(quiet));
    bar.set_style(style("{spinner} {elapsed} {msg}"));
    bar
}

/// One bar a case, each with the time that it still needs.
pub struct CaseBars {
    bars: Vec<ProgressBar>,
    // Holds the drawing of all bars together.
    _all: MultiProgress,
}

impl CaseBars {
    /// Bars for the cases of these names, `duration_ns` of simulated time each.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>, duration_ns: u64, quiet: bool) -> Self {
        let all = MultiProgress::with_draw_target(target(quiet));
        let bars = names
            .map(|name| {
                let bar = all.add(ProgressBar::new(duration_ns));
                bar.set_style(style(
                    "{prefix:20!} {wide_bar} {percent:>3} %  {eta:>4} left",
                ));
                bar.set_prefix(name.to_owned());
                bar
            })
            .collect();
        Self { bars, _all: all }
    }

    /// The case of this index has come to `time_ns`.
    pub fn reached(&self, case: usize, time_ns: u64) {
        self.bars[case].set_position(time_ns);
    }

    /// Takes the bars off the terminal.
    pub fn clear(&self) {
        for bar in &self.bars {
            bar.finish_and_clear();
        }
    }
}

fn target(quiet: bool) -> ProgressDrawTarget {
    if quiet {
        return ProgressDrawTarget::hidden();
    }
    // A few updates a second are enough; nothing is drawn where there is no terminal.
    ProgressDrawTarget::stderr_with_hz(5)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is a constant")
}
