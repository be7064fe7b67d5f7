//! The summary as one JSON value, and all events as JSON Lines.

use std::io::Write;

use ringfence_record::event::{Event, Header};
use serde::Serialize;

use crate::Error;
use crate::report::Report;

/// Version of the lines that [`write_events`] writes.
pub const EVENTS_VERSION: u32 = 2;

/// Writes the [`Summary`](ringfence_analysis::summary::Summary); its version and units are in it.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, out: &mut impl Write) -> Result<(), Error> {
    serde_json::to_writer_pretty(&mut *out, &report.summary)?;
    writeln!(out)?;
    Ok(())
}

/// First line of the events.
#[derive(Serialize)]
struct EventsHeader<'a> {
    events_version: u32,
    header: &'a Header,
}

/// Writes a header line, and then each event on a line of its own, as they come.
///
/// # Errors
/// When `events` does, after the events before; when `out` fails.
pub fn write_events<E>(
    header: &Header,
    events: impl IntoIterator<Item = Result<Event, E>>,
    out: &mut impl Write,
) -> Result<(), Error>
where
    Error: From<E>,
{
    serde_json::to_writer(
        &mut *out,
        &EventsHeader {
            events_version: EVENTS_VERSION,
            header,
        },
    )?;
    writeln!(out)?;
    for event in events {
        serde_json::to_writer(&mut *out, &event?)?;
        writeln!(out)?;
    }
    Ok(())
}
