//! The record of a run: every target writes it, every report reads it.

pub mod event;
