//! A whole record, case by case.

use std::io::Read;

use ringfence_record::event::{Event, Header};
use ringfence_record::{Reader, RecordError};

use crate::case::CaseRun;
use crate::read_case::{CaseError, CaseReader};

/// A record.
#[derive(Debug)]
pub struct Run {
    /// Who wrote the record, and on what.
    pub header: Header,
    /// The cases, in the order of the record.
    pub cases: Vec<Result<CaseRun, CaseError>>,
    /// Where and how the record is damaged; what comes before it is in `cases`.
    pub damage: Option<RecordError>,
}

impl Run {
    /// Reads a record, a damaged one up to the damage.
    ///
    /// # Errors
    /// When the record's header cannot be read.
    pub fn read(input: impl Read) -> Result<Self, RecordError> {
        let mut reader = Reader::new(input)?;
        let mut cases = Vec::new();
        let mut section = None;
        let mut damage = None;
        for event in &mut reader {
            match event {
                Ok(Event::CaseBegin(case)) => section = Some(CaseReader::new(*case)),
                Ok(event) => {
                    let ends = matches!(event, Event::CaseEnd { .. });
                    if let Some(section) = &mut section {
                        section.read(&event);
                    }
                    if ends {
                        cases.extend(section.take().map(CaseReader::finish));
                    }
                }
                Err(error) => damage = Some(error),
            }
        }
        cases.extend(section.map(CaseReader::finish));
        Ok(Self {
            header: reader.header().clone(),
            cases,
            damage,
        })
    }
}
