//! Commands that show what is enforced now.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use ringfence_scenario::quantity;

/// `ringfence top`
#[derive(Debug, Args)]
pub struct Top {
    /// Print one line of JSON a look instead of drawing
    #[arg(long)]
    pub json: bool,
    /// Time from one look to the next: seconds, or with a unit such as `500ms`; at least 100 ms
    #[arg(short, long, value_name = "TIME", default_value = "1", value_parser = interval)]
    pub interval: Duration,
    /// Look once, and print it
    #[arg(long)]
    pub once: bool,
}

/// `ringfence metrics`
#[derive(Debug, Args)]
pub struct Metrics {
    /// Address and port to serve `/metrics` on; what listens elsewhere than on 127.0.0.1 shows everybody there what is enforced
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9477")]
    pub listen: SocketAddr,
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval_ns = quantity::parse_command_line_time(text).map_err(|error| error.to_string())?;
    let interval = Duration::from_nanos(interval_ns);
    match interval >= Duration::from_millis(100) {
        true => Ok(interval),
        false => Err(format!("found {text}, expected at least 100 ms")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clap::Parser;

    use crate::arguments::Arguments;

    /// What systemd starts are commands that there are.
    #[test]
    fn units_have_our_commands() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
        let mut commands = 0;
        for unit in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(unit.unwrap().path()).unwrap();
            for line in text.lines().filter(|line| line.starts_with("Exec")) {
                let (_, command) = line.split_once('=').unwrap();
                let words = command.trim_start_matches('+').split_whitespace();
                Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
                commands += 1;
            }
        }
        assert_eq!(commands, 4);
    }
}
