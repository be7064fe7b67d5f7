//! The `ringfence` command.

fn main() {}
