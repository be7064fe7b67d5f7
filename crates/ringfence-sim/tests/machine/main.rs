//! The exact engine against closed forms and laws of conservation.

mod banks;
#[path = "../common/board.rs"]
mod board;
mod closed_forms;
mod conservation;
mod cores;
mod hand_over;
mod interrupts;
mod llc;
mod llc_bench;
mod refused;
mod support;
