//! The record of a run: every target writes it, every report reads it.
//!
//! [`event`] says what a record can tell, [`format`] how it lies in a file.
//! A target writes with [`Writer`], or builds its cases side by side with one
//! [`Section`] each and appends them in order. Reports read with [`Reader`].
//!
//! ```
//! use ringfence_record::event::{Case, Claims, Event, Header};
//! use ringfence_record::{Reader, Writer};
//!
//! let header = Header {
//!     target: "sim".into(),
//!     ringfence_version: "0.1.0".into(),
//!     scenario: "demo".into(),
//!     description: String::new(),
//!     platform: "raspberry-pi-3".into(),
//!     kernel: None,
//!     seed: 1,
//!     overrides: vec![],
//!     inputs: vec![],
//! };
//! let case = Case {
//!     name: "solo".into(),
//!     duration_ns: 1_000_000,
//!     cores: 4,
//!     claims: Claims::default(),
//!     partitions: vec![],
//!     gangs: vec![],
//!     tasks: vec![],
//!     threads: vec![],
//!     classes_of_service: vec![],
//!     accuracy: Default::default(),
//! };
//! let mut writer = Writer::new(Vec::new(), &header)?;
//! writer.write(&Event::CaseBegin(Box::new(case)))?;
//! writer.write(&Event::CaseEnd { time_ns: 1_000_000 })?;
//! let bytes = writer.finish()?;
//!
//! let reader = Reader::new(&bytes[..])?;
//! assert_eq!(reader.header().scenario, "demo");
//! let events = reader.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(events.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod accuracy;
pub mod event;
pub mod format;
mod header;
mod reader;
mod writer;

pub use reader::{Reader, RecordError, read_all};
pub use writer::{Section, WriteError, Writer};
