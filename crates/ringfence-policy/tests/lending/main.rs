//! Tests of lending: its rules one by one, random sequences against a reference model, and
//! every reachable state of a few vCPUs with their reservations.

mod exhaustive;
mod machine;
mod random;
mod reference;
mod rules;
