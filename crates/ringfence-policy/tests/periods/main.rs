//! Tests of periods: their rules one by one, random changes against a list of all that
//! begin, every reachable state of short ones, and bandwidths against exact fractions.

mod bandwidth;
mod exhaustive;
mod random;
mod reference;
mod rules;
