//! Finds the corners of an image: a small vision task as in a car's camera.

use clap::Parser;
use ringfence_workloads::job_mark::JobMarks;
use ringfence_workloads::page_aligned::PageAligned;
use ringfence_workloads::pgm::{self, GreyImage};
use ringfence_workloads::susan::{Corner, Detector, annotate};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Finds the corners of a grey image with the SUSAN detector and lists them as
/// `COLUMN ROW RESPONSE`, one a line.
#[derive(Debug, Parser)]
#[command(name = "susan", version)]
struct Arguments {
    /// Image, binary PGM (P5) with one byte a pixel
    image: PathBuf,
    /// Least contrast of a corner, in steps of brightness
    #[arg(long, value_name = "STEPS", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..))]
    threshold: u8,
    /// Find them this often; `ringfence trace record` sees each time as a job
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// Write the list here instead of to the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the image with its corners marked here
    #[arg(long, value_name = "FILE")]
    annotated: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("susan: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let image = read_image(&arguments.image)?;
    let corners = find_corners(&image, arguments)?;
    let mut list = String::new();
    for Corner { x, y, response } in &corners {
        let _ = writeln!(list, "{x} {y} {response}");
    }
    match &arguments.output {
        Some(path) => write_file(path, list.as_bytes())?,
        None => std::io::stdout()
            .write_all(list.as_bytes())
            .map_err(|error| format!("cannot write the list of corners: {error}"))?,
    }
    if let Some(path) = &arguments.annotated {
        write_file(path, &pgm::format(&annotate(&image, &corners)))?;
    }
    Ok(())
}

fn read_image(path: &Path) -> Result<GreyImage, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    pgm::parse(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs the jobs; they are equal, so the corners of the last are those of all.
fn find_corners(image: &GreyImage, arguments: &Arguments) -> Result<Vec<Corner>, String> {
    let detector = Detector::new(image, arguments.threshold).ok_or_else(|| {
        let (width, height) = (image.width, image.height);
        format!("an image of {width} x {height} pixels; each side may have at most 65536")
    })?;
    let mut state = PageAligned(Jobs {
        detector,
        marks: JobMarks::map(),
        found: Vec::new(),
    });
    for _ in 0..arguments.jobs {
        run_job(&mut state.0);
    }
    Ok(state.0.found)
}

/// All that a job touches besides the detector's own slices.
struct Jobs {
    detector: Detector,
    marks: JobMarks,
    found: Vec<Corner>,
}

/// One job. Not inlined, so that its stack lies below the page-aligned state.
#[inline(never)]
fn run_job(jobs: &mut Jobs) {
    jobs.marks.begin();
    let corners = jobs.detector.detect();
    jobs.marks.end();
    jobs.found.clear();
    jobs.found.extend_from_slice(corners);
}
