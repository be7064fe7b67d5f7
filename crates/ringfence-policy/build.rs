//! Compiles the policy core into a static library that the Rust face links.

fn main() {
    let policy = "../../policy/include";
    println!("cargo:rerun-if-changed={policy}");
    println!("cargo:rerun-if-changed=src/shim.c");
    cc::Build::new()
        .file("src/shim.c")
        .include(policy)
        .std("c11")
        .flag("-ffreestanding")
        .flag("-Wextra")
        .warnings_into_errors(true)
        .compile("ringfence_policy");
}
