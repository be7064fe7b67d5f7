//! Every report of a made-up run.

mod hostile;
mod sample;
mod text;
