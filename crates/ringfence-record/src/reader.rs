//! Reading records, damaged ones up to the damage.

use std::io::{BufReader, ErrorKind, Read};

use serde::de::DeserializeOwned;

use crate::event::{Event, Header};
use crate::format::{CHECK_BYTES, LENGTH_BYTES, MAGIC, MAX_PAYLOAD_BYTES, VERSION};

/// Why a record cannot be read any further. Offsets are bytes from the
/// beginning of the record to the frame that is concerned.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file or pipe failed.
    #[error("cannot read the record at byte {offset}: {source}")]
    Io {
        /// Where.
        offset: u64,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Something else than a record.
    #[error(
        "this is not a ringfence record: it does not begin with the record signature; give a file that `ringfence run` wrote"
    )]
    NotARecord,
    /// Another version of the format.
    #[error(
        "this record has format version {found}, but this ringfence reads version {VERSION}; {advice}",
        advice = if *found > VERSION { "read it with a newer ringfence" } else { "run the scenario again" }
    )]
    Version {
        /// The record's version.
        found: u16,
    },
    /// The end of the file before the end of the record.
    #[error(
        "the record ends early: byte {offset} begins something that is cut off{}; the {events} events before it are good; if the run is over, copy the record again or run the scenario again",
        in_case(case)
    )]
    Truncated {
        /// Where.
        offset: u64,
        /// Events read before.
        events: u64,
        /// Name of the case whose section is open.
        case: Option<String>,
    },
    /// Bytes that are not what was written.
    #[error(
        "the record is damaged at byte {offset}{}: {what}; the {events} events before it are good; copy the record again or run the scenario again",
        in_case(case)
    )]
    Corrupted {
        /// Where.
        offset: u64,
        /// Events read before.
        events: u64,
        /// Name of the case whose section is open.
        case: Option<String>,
        /// What was found and what was expected.
        what: String,
    },
    /// A section that another section or the end of the record follows, without its `CaseEnd`.
    #[error(
        "case '{case}' has no end: byte {offset} goes on with something else; its {events_in_case} events are good, but what came after them was never recorded; run the scenario again"
    )]
    SectionWithoutEnd {
        /// Where.
        offset: u64,
        /// Events of the section so far, its `CaseBegin` among them.
        events_in_case: u64,
        /// Name of the case.
        case: String,
    },
}

fn in_case(case: &Option<String>) -> String {
    match case {
        Some(name) => format!(", in case '{name}'"),
        None => String::new(),
    }
}

/// The section that is being read.
#[derive(Debug)]
struct OpenSection {
    case: String,
    events: u64,
}

/// Reads a record from `R`, which needs no buffer of its own.
///
/// Iterates over the events. After the first error, and after the end of a
/// complete record, there are no more. Bytes behind the end are not read.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: BufReader<R>,
    header: Header,
    offset: u64,
    events: u64,
    section: Option<OpenSection>,
    buffer: Vec<u8>,
    done: bool,
}

impl<R: Read> Reader<R> {
    /// Opens a record and reads its header.
    ///
    /// # Errors
    /// Every [`RecordError`] except [`RecordError::SectionWithoutEnd`].
    pub fn new(input: R) -> Result<Self, RecordError> {
        let mut reader = Self {
            input: BufReader::new(input),
            header: Header::default(),
            offset: 0,
            events: 0,
            section: None,
            buffer: Vec::new(),
            done: false,
        };
        reader.read_signature()?;
        let length = reader.read_length()?;
        reader.read_payload(length)?;
        reader.header = reader.decode("header")?;
        reader.advance();
        Ok(reader)
    }

    /// Who wrote the record, and on what.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the next frame begins, in bytes from the beginning of the record.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn read_signature(&mut self) -> Result<(), RecordError> {
        self.fill(MAGIC.len()).map_err(|error| match error {
            // The beginning of something else is short, too.
            RecordError::Truncated { .. } if !MAGIC.starts_with(&self.buffer) => {
                RecordError::NotARecord
            }
            error => error,
        })?;
        if self.buffer != MAGIC {
            return Err(RecordError::NotARecord);
        }
        self.fill(size_of::<u16>())?;
        let found = u16::from_le_bytes([self.buffer[MAGIC.len()], self.buffer[MAGIC.len() + 1]]);
        if found != VERSION {
            return Err(RecordError::Version { found });
        }
        self.advance();
        Ok(())
    }

    /// Reads the length that begins a frame; zero begins the trailer.
    fn read_length(&mut self) -> Result<usize, RecordError> {
        self.fill(LENGTH_BYTES)?;
        let length = u32::from_le_bytes(last_bytes(&self.buffer));
        if length > MAX_PAYLOAD_BYTES {
            return Err(self.corrupted(format!(
                "a frame of {length} bytes, but frames have at most {MAX_PAYLOAD_BYTES}"
            )));
        }
        Ok(length as usize)
    }

    /// Reads a payload behind its length, and checks both.
    fn read_payload(&mut self, length: usize) -> Result<(), RecordError> {
        self.fill(length)?;
        let computed = crc32c::crc32c(&self.buffer);
        self.fill(CHECK_BYTES)?;
        let written = u32::from_le_bytes(last_bytes(&self.buffer));
        if computed != written {
            return Err(self.corrupted(format!(
                "its check is {written:08x}, but the bytes there give {computed:08x}"
            )));
        }
        Ok(())
    }

    fn decode<T: DeserializeOwned>(&self, what: &str) -> Result<T, RecordError> {
        let payload = &self.buffer[LENGTH_BYTES..self.buffer.len() - CHECK_BYTES];
        match postcard::take_from_bytes(payload) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => {
                Err(self.corrupted(format!("{} bytes too many for one {what}", rest.len())))
            }
            Err(error) => Err(self.corrupted(format!("no {what} of this version ({error})"))),
        }
    }

    /// The next event; `None` at the end of a complete record.
    fn read_event(&mut self) -> Result<Option<Event>, RecordError> {
        let length = self.read_length()?;
        if length == 0 {
            self.read_trailer()?;
            return Ok(None);
        }
        self.read_payload(length)?;
        let event = self.decode("event")?;
        self.enter(&event)?;
        self.events += 1;
        self.advance();
        Ok(Some(event))
    }

    fn read_trailer(&mut self) -> Result<(), RecordError> {
        self.read_payload(size_of::<u64>())?;
        let count = &self.buffer[LENGTH_BYTES..LENGTH_BYTES + size_of::<u64>()];
        let count = u64::from_le_bytes(last_bytes(count));
        self.expect_no_section()?;
        if count != self.events {
            return Err(self.corrupted(format!(
                "the record had {count} events when it was written, but {} are here",
                self.events
            )));
        }
        Ok(())
    }

    /// Keeps track of sections.
    fn enter(&mut self, event: &Event) -> Result<(), RecordError> {
        match event {
            Event::CaseBegin(case) => {
                self.expect_no_section()?;
                self.section = Some(OpenSection {
                    case: case.name.clone(),
                    events: 1,
                });
            }
            Event::CaseEnd { .. } if self.section.is_some() => self.section = None,
            _ => match &mut self.section {
                Some(section) => section.events += 1,
                None => {
                    return Err(self.corrupted("an event outside the section of a case".into()));
                }
            },
        }
        Ok(())
    }

    fn expect_no_section(&self) -> Result<(), RecordError> {
        match &self.section {
            Some(section) => Err(RecordError::SectionWithoutEnd {
                offset: self.offset,
                events_in_case: section.events,
                case: section.case.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Reads `count` more bytes behind those in the buffer. A short input
    /// leaves what there is of them.
    fn fill(&mut self, count: usize) -> Result<(), RecordError> {
        let start = self.buffer.len();
        self.buffer.resize(start + count, 0);
        let mut end = start;
        while end < self.buffer.len() {
            match self.input.read(&mut self.buffer[end..]) {
                Ok(0) => {
                    self.buffer.truncate(end);
                    return Err(RecordError::Truncated {
                        offset: self.offset,
                        events: self.events,
                        case: self.open_case(),
                    });
                }
                Ok(read) => end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(RecordError::Io {
                        offset: self.offset,
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    /// Goes on behind what is in the buffer.
    fn advance(&mut self) {
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
    }

    fn open_case(&self) -> Option<String> {
        self.section.as_ref().map(|section| section.case.clone())
    }

    fn corrupted(&self, what: String) -> RecordError {
        RecordError::Corrupted {
            offset: self.offset,
            events: self.events,
            case: self.open_case(),
            what,
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Event, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let result = self.read_event().transpose();
        self.done = !matches!(result, Some(Ok(_)));
        result
    }
}

impl<R: Read> std::iter::FusedIterator for Reader<R> {}

/// The last `N` bytes of at least as many.
fn last_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut last = [0; N];
    last.copy_from_slice(&bytes[bytes.len() - N..]);
    last
}

/// Reads a whole record: the events before any damage, and the damage.
pub fn read_all(bytes: &[u8]) -> (Vec<Event>, Option<RecordError>) {
    let reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut events = Vec::new();
    for event in reader {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}
