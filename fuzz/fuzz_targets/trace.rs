//! Traces: any bytes give jobs and at most one error.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = ringfence_trace::read_all(bytes);
});
