//! Events of the CPUs' performance monitoring unit (PMU): which there are, and which of them
//! really count what they should.

mod event;
mod load;
mod proof;

pub use event::{Counts, Event, UnknownEvent};
pub use load::LINES as LOAD_LINES;
pub use proof::{EventProbe, Prover};
