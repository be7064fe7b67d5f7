//! Changes to the machine, and what undoes them.

mod control_groups;
mod crash;
mod journal;
mod model;
mod process;
mod refusals;
mod tree;
