//! Tests of the bandwidth regulator: its rules one by one, random sequences
//! against a reference model, and every reachable state of small domains.

mod exhaustive;
mod random;
mod reference;
mod rules;
