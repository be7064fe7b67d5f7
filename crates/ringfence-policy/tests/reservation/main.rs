//! Tests of reservations: their rules one by one, random sequences against a reference
//! model, and every reachable state of small VMs.

mod exhaustive;
mod go_on;
mod random;
mod reference;
mod rules;
