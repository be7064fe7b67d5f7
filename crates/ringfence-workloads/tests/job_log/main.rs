//! The job log: what programs put in comes out, in order and no more, whoever writes it.

mod c_program;
mod death;
mod hostile;
mod membership;
mod ring;

use ringfence_workloads::job_log::{JobLog, Jobs, Size};

/// A log and a program's way to it.
fn log(slots: u32, events: u32) -> (JobLog, Jobs) {
    let log = JobLog::create(Size::new(slots, events).unwrap()).unwrap();
    let jobs = Jobs::open(&log.path()).unwrap();
    (log, jobs)
}
