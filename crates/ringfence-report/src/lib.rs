//! Reports of a record: terminal, HTML, Perfetto, CSV, JSON.
//!
//! Read a record into a [`Report`] and write it as often as needed. Reports
//! never ask which target wrote the record.

mod error;
mod report;
mod rows;
mod set_up;
mod units;
mod wording;

pub mod compare;
pub mod csv;
pub mod html;
pub mod json;
pub mod perfetto;
pub mod terminal;
pub mod text_table;

pub use error::Error;
pub use report::Report;
