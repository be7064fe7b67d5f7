//! The `ringfence` command as its users meet it.

mod commands;
mod corpus;
mod interruption;
mod ringfence;
mod runs;
