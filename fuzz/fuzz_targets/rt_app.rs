//! Workload files of rt-app: any text is imported or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = ringfence_workloads::rt_app::import(&String::from_utf8_lossy(bytes), "raspberry-pi-3");
});
