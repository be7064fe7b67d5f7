//! Runs of other programs: any description and tables make a record that can be read, or are refused.
#![no_main]

#[path = "../imported.rs"]
mod imported;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| imported::judge(bytes));
