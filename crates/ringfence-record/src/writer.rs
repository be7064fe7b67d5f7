//! Writing records.

use std::io::{BufWriter, Write};

use crate::event::{Event, Header};
use crate::format::{MAGIC, VERSION, push_frame, trailer};

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file or pipe refused the bytes.
    #[error("cannot write the record: {0}")]
    Io(#[from] std::io::Error),
    /// The value has no encoding.
    #[error("cannot encode an event: {0}")]
    Encode(#[from] postcard::Error),
    /// Longer than [`MAX_PAYLOAD_BYTES`](crate::format::MAX_PAYLOAD_BYTES).
    #[error(
        "an event of {payload_bytes} bytes does not fit the record, whose frames hold {max} bytes; use fewer threads or shorter names or messages",
        max = crate::format::MAX_PAYLOAD_BYTES
    )]
    TooLong {
        /// Bytes of its encoding.
        payload_bytes: usize,
    },
    /// An event outside a section, or a section inside a section.
    #[error("a section is CaseBegin, events, CaseEnd: {0}")]
    OutOfPlace(&'static str),
}

/// Where a writer is in the order of sections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    in_section: bool,
}

impl Place {
    fn step(&mut self, event: &Event) -> Result<(), WriteError> {
        match (self.in_section, event) {
            (true, Event::CaseBegin(_)) => {
                return Err(WriteError::OutOfPlace(
                    "CaseBegin came before the CaseEnd of the section before",
                ));
            }
            (false, Event::CaseBegin(_)) => self.in_section = true,
            (false, _) => {
                return Err(WriteError::OutOfPlace("an event came before a CaseBegin"));
            }
            (true, Event::CaseEnd { .. }) => self.in_section = false,
            (true, _) => {}
        }
        Ok(())
    }

    fn expect_outside(self) -> Result<(), WriteError> {
        if self.in_section {
            return Err(WriteError::OutOfPlace("the section has no CaseEnd yet"));
        }
        Ok(())
    }
}

/// Cases in memory, to be appended to a record with [`Writer::append_section`].
///
/// Targets that run cases side by side write each into its own section and
/// append the sections in the order of the scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    bytes: Vec<u8>,
    events: u64,
    place: Place,
}

impl Section {
    /// An empty section.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one event.
    ///
    /// # Errors
    /// [`WriteError::OutOfPlace`] and [`WriteError::TooLong`]; the section is unchanged then.
    pub fn write(&mut self, event: &Event) -> Result<(), WriteError> {
        let mut place = self.place;
        place.step(event)?;
        push_frame(&mut self.bytes, event)?;
        self.place = place;
        self.events += 1;
        Ok(())
    }

    /// Bytes that it holds so far.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Writes a record into `W`, which needs no buffer of its own.
///
/// Without [`finish`](Writer::finish) the record reads as truncated, which it is.
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: BufWriter<W>,
    frame: Vec<u8>,
    events: u64,
    place: Place,
}

impl<W: Write> Writer<W> {
    /// Begins a record.
    ///
    /// # Errors
    /// [`WriteError::Io`], and [`WriteError::TooLong`] for a header with endless texts.
    pub fn new(output: W, header: &Header) -> Result<Self, WriteError> {
        let mut frame = Vec::new();
        push_frame(&mut frame, header)?;
        let mut output = BufWriter::new(output);
        output.write_all(&MAGIC)?;
        output.write_all(&VERSION.to_le_bytes())?;
        output.write_all(&frame)?;
        Ok(Self {
            output,
            frame,
            events: 0,
            place: Place::default(),
        })
    }

    /// Writes one event.
    ///
    /// # Errors
    /// [`WriteError::OutOfPlace`] and [`WriteError::TooLong`] write nothing;
    /// after [`WriteError::Io`] the record is damaged.
    pub fn write(&mut self, event: &Event) -> Result<(), WriteError> {
        let mut place = self.place;
        place.step(event)?;
        self.frame.clear();
        push_frame(&mut self.frame, event)?;
        self.output.write_all(&self.frame)?;
        self.place = place;
        self.events += 1;
        Ok(())
    }

    /// Writes complete sections that were built apart, through to the output, so
    /// that a run that is stopped later has lost none of them.
    ///
    /// # Errors
    /// [`WriteError::OutOfPlace`] when either side lacks a `CaseEnd`, and [`WriteError::Io`].
    pub fn append_section(&mut self, section: &Section) -> Result<(), WriteError> {
        self.place.expect_outside()?;
        section.place.expect_outside()?;
        self.output.write_all(&section.bytes)?;
        self.output.flush()?;
        self.events += section.events;
        Ok(())
    }

    /// Ends the record, flushes it and gives the output back.
    ///
    /// # Errors
    /// [`WriteError::OutOfPlace`] when the last section lacks its `CaseEnd`, and [`WriteError::Io`].
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.place.expect_outside()?;
        self.output.write_all(&trailer(self.events))?;
        self.output
            .into_inner()
            .map_err(|error| WriteError::Io(error.into_error()))
    }
}
