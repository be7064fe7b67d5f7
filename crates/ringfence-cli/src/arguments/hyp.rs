//! Commands about the hypervisor.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `ringfence hyp`
#[derive(Debug, Subcommand)]
pub enum Hyp {
    /// Write an image that a board's boot loader takes: the hypervisor with a scenario's VMs
    Image(HypImage),
}

/// `ringfence hyp image`
#[derive(Debug, Args)]
pub struct HypImage {
    /// Scenario file; its platform is the board
    pub scenario: PathBuf,
    /// Where to write the image
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The case whose VMs and reservations are built in [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub case: Option<String>,
    /// How to write it
    #[arg(long, value_enum, default_value = "elf")]
    pub format: ImageFormat,
    /// Trace what happens to vCPUs into the last 2 MiB of the board's memory
    #[arg(long)]
    pub trace: bool,
    /// Print what was built as JSON
    #[arg(long)]
    pub json: bool,
}

/// What an image is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImageFormat {
    /// An ELF file, for QEMU and debuggers
    Elf,
    /// Bytes of memory, for boot loaders that take a Linux kernel: booti of U-Boot, a Raspberry Pi's kernel8.img
    Raw,
}
