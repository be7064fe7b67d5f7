//! Target `linux`: gang scheduling, throttling and measurement on a live kernel.

pub mod changes;
pub mod class;
pub mod control_group;
pub mod counters;
pub mod doctor;
pub mod enforcement;
pub mod hierarchies;
pub mod interruption;
pub mod live;
pub mod pmu;
pub mod portable;
pub mod recorder;
pub mod ring;
pub mod run;
pub mod scheduler;
pub mod sys;
pub mod thread;
