//! What a writer refuses, and when its sections are in the output.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use ringfence_record::event::*;
use ringfence_record::{RecordError, Section, WriteError, Writer, read_all};

use crate::sample::{case, header, sample_events};

#[test]
fn a_writer_refuses_events_out_of_place() {
    let begin = Event::CaseBegin(Box::new(case("solo")));
    let end = Event::CaseEnd { time_ns: 1 };
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    assert!(matches!(writer.write(&end), Err(WriteError::OutOfPlace(_))));
    writer.write(&begin).unwrap();
    assert!(matches!(
        writer.write(&begin),
        Err(WriteError::OutOfPlace(_))
    ));
    assert!(matches!(
        writer.append_section(&Section::new()),
        Err(WriteError::OutOfPlace(_))
    ));
    assert!(matches!(writer.finish(), Err(WriteError::OutOfPlace(_))));

    let mut open = Section::new();
    open.write(&begin).unwrap();
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    assert!(matches!(
        writer.append_section(&open),
        Err(WriteError::OutOfPlace(_))
    ));
}

/// Bytes that can be looked at while a writer writes them.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_appended_section_is_in_the_output_at_once() {
    let events = &sample_events()[..2];
    let mut section = Section::new();
    events
        .iter()
        .for_each(|event| section.write(event).unwrap());
    let output = Shared::default();
    let mut writer = Writer::new(output.clone(), &header()).unwrap();
    writer.append_section(&section).unwrap();
    let (read, error) = read_all(&output.0.borrow());
    assert_eq!(read, events);
    assert!(matches!(error, Some(RecordError::Truncated { .. })));
}

#[test]
fn an_event_that_is_too_long_leaves_the_record_good() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    let begin = Event::CaseBegin(Box::new(case("solo")));
    writer.write(&begin).unwrap();
    let long = Event::Message {
        time_ns: 0,
        text: "x".repeat(1 << 20),
    };
    assert!(matches!(
        writer.write(&long),
        Err(WriteError::TooLong { .. })
    ));
    let end = Event::CaseEnd { time_ns: 1 };
    writer.write(&end).unwrap();
    let bytes = writer.finish().unwrap();
    assert_eq!(read_all(&bytes).0, [begin, end]);
}
