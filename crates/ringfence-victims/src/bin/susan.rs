//! Corners, edges or smoothing of an image: small vision tasks as in a car's camera.

use clap::{Parser, ValueEnum};
use ringfence_victims::command::{self, Options, write_file};
use ringfence_victims::jobs::repeat;
use ringfence_victims::pgm::{self, GreyImage};
use ringfence_victims::susan::{CornerDetector, EdgeDetector, Feature, Smoother, annotate};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Finds the corners or the edges of a grey image as SUSAN does and lists them
/// as `COLUMN ROW RESPONSE`, one a line; or smooths the image and writes it as PGM.
#[derive(Debug, Parser)]
#[command(name = "susan", version)]
struct Arguments {
    /// Image, binary PGM (P5) with one byte a pixel
    image: PathBuf,
    /// What to do with it
    #[arg(long, value_enum, default_value_t = Mode::Corners)]
    mode: Mode,
    /// Take the middle of the image only
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = parse_size)]
    crop: Option<(usize, usize)>,
    /// Least contrast of a corner or an edge, greatest of noise, in steps of brightness
    #[arg(long, value_name = "STEPS", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..))]
    threshold: u8,
    /// Write the image with its corners or edges marked here
    #[arg(long, value_name = "FILE")]
    annotated: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Corners,
    Edges,
    Smoothing,
}

fn main() -> ExitCode {
    command::exit("susan", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let image = read_image(&arguments.image, arguments.crop)?;
    let (threshold, jobs) = (arguments.threshold, arguments.options.jobs);
    match arguments.mode {
        Mode::Corners => {
            let detector = CornerDetector::new(&image, threshold).map_err(|e| e.to_string())?;
            let detector = repeat(detector, jobs, CornerDetector::detect);
            // Marked by a square, which leaves the corner itself to be seen.
            write_features(arguments, &image, detector.corners(), 2)
        }
        Mode::Edges => {
            let detector = EdgeDetector::new(&image, threshold).map_err(|e| e.to_string())?;
            let detector = repeat(detector, jobs, EdgeDetector::detect);
            write_features(arguments, &image, detector.edges(), 0)
        }
        Mode::Smoothing if arguments.annotated.is_some() => {
            Err("smoothing finds nothing to mark; use --annotated with corners or edges".into())
        }
        Mode::Smoothing => {
            let smoother = repeat(Smoother::new(&image, threshold), jobs, Smoother::smooth);
            let smoothed = pgm::format(&smoother.image());
            arguments.options.write_result(&smoothed)
        }
    }
}

/// Lists features and marks them in the image, `reach` pixels around each.
fn write_features(
    arguments: &Arguments,
    image: &GreyImage,
    features: &[Feature],
    reach: usize,
) -> Result<(), String> {
    let mut list = String::new();
    for Feature { x, y, response } in features {
        let _ = writeln!(list, "{x} {y} {response}");
    }
    arguments.options.write_result(list.as_bytes())?;
    match &arguments.annotated {
        Some(path) => write_file(path, &pgm::format(&annotate(image, features, reach))),
        None => Ok(()),
    }
}

fn read_image(path: &Path, crop: Option<(usize, usize)>) -> Result<GreyImage, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let image = pgm::parse(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    let Some((width, height)) = crop else {
        return Ok(image);
    };
    image.middle(width, height).ok_or_else(|| {
        format!(
            "{}: {} x {} pixels, of which --crop asks for {width} x {height}",
            path.display(),
            image.width,
            image.height
        )
    })
}

fn parse_size(text: &str) -> Result<(usize, usize), String> {
    text.split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
        .ok_or_else(|| "expected WIDTHxHEIGHT in pixels, such as 96x72".into())
}
