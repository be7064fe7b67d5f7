//! Compiles the policy core into a static library that the Rust face links.

fn main() {
    let policy = "../../policy/include";
    let shims = [
        "src/shim_gang.c",
        "src/shim_lending.c",
        "src/shim_periods.c",
        "src/shim_regulator.c",
        "src/shim_reservation.c",
    ];
    for input in shims.iter().chain([&policy]) {
        println!("cargo:rerun-if-changed={input}");
    }
    cc::Build::new()
        .files(shims)
        .include(policy)
        .std("c11")
        .flag("-ffreestanding")
        .flag("-Wextra")
        .warnings_into_errors(true)
        .compile("ringfence_policy");
}
