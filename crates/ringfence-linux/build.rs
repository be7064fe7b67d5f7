//! Compiles the BPF programs of `bpf/` and writes a Rust skeleton for each.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

/// CPUs that the policy core is built for here: one machine word a set. It is more than
/// the boards that ringfence is for have, and the loops of the policy stay short.
const MAX_CPUS: u32 = 64;

fn main() {
    let root = Path::new("../..");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let target = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the target");
    // The names that bpf_tracing.h has for them.
    let kernel_architecture = match target.as_str() {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        other => panic!("ringfence's BPF programs are not made for {other}"),
    };
    println!("cargo:rerun-if-changed=../../bpf");
    println!("cargo:rerun-if-changed=../../policy/include");
    for program in ["gang_scheduler", "recorder"] {
        SkeletonBuilder::new()
            .source(root.join(format!("bpf/{program}.bpf.c")))
            .clang("clang-19")
            .clang_args([
                "-ffreestanding",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-unused-parameter",
                "-mcpu=v3",
                &format!("-DRF_MAX_CPUS={MAX_CPUS}U"),
                &format!("-D__TARGET_ARCH_{kernel_architecture}"),
                "-I../../policy/include",
            ])
            .build_and_generate(output.join(format!("{program}.skel.rs")))
            .unwrap_or_else(|error| panic!("bpf/{program}.bpf.c: {error:?}"));
    }
}
