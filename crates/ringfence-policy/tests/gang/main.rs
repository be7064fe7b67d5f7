//! The compiled gang policy against a reference model written from the paper, under
//! random events and in every reachable state of small configurations.

mod exhaustive;
mod random;
mod reference;
mod shell;
