//! Tracks, slices and counters as packets.

use std::io::{self, Write};

use prost::Message;

use super::proto::{
    ChildOrdering, CounterDescriptor, DebugAnnotation, EventType, ProcessDescriptor, Trace,
    TracePacket, TrackDescriptor, TrackEvent,
};

/// All packets come from one writer.
const SEQUENCE: u32 = 1;

/// A track that events can be put on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Track(u64);

/// What a reader sees when a slice is selected.
pub enum Detail {
    Number(&'static str, u64),
    Text(&'static str, String),
}

/// Writes packets.
pub struct Emitter<W> {
    out: W,
    next_uuid: u64,
}

impl<W: Write> Emitter<W> {
    pub fn new(out: W) -> Self {
        Emitter { out, next_uuid: 1 }
    }

    /// A group of tracks under a heading; `number` orders the groups, from 1.
    pub fn group(&mut self, number: i32, name: &str) -> io::Result<Track> {
        let process = ProcessDescriptor {
            pid: Some(number),
            process_name: Some(name.to_owned()),
        };
        self.describe(TrackDescriptor {
            process: Some(process),
            child_ordering: Some(ChildOrdering::Explicit as i32),
            ..TrackDescriptor::default()
        })
    }

    /// A track for slices and instants; siblings appear in the order of `rank`.
    pub fn track(&mut self, parent: Track, rank: usize, name: &str) -> io::Result<Track> {
        self.describe(TrackDescriptor {
            name: Some(name.to_owned()),
            parent_uuid: Some(parent.0),
            sibling_order_rank: Some(rank as i32),
            ..TrackDescriptor::default()
        })
    }

    /// A track for the values of a counter in `unit`.
    pub fn counter_track(
        &mut self,
        parent: Track,
        rank: usize,
        name: &str,
        unit: &str,
    ) -> io::Result<Track> {
        self.describe(TrackDescriptor {
            name: Some(name.to_owned()),
            parent_uuid: Some(parent.0),
            counter: Some(CounterDescriptor {
                unit_name: Some(unit.to_owned()),
            }),
            sibling_order_rank: Some(rank as i32),
            ..TrackDescriptor::default()
        })
    }

    /// A slice; those of one track must not overlap and come in order of time.
    pub fn slice(
        &mut self,
        track: Track,
        (start_ns, end_ns): (u64, u64),
        category: &str,
        name: &str,
        details: Vec<Detail>,
    ) -> io::Result<()> {
        self.event(
            start_ns,
            TrackEvent {
                r#type: Some(EventType::SliceBegin as i32),
                track_uuid: Some(track.0),
                categories: vec![category.to_owned()],
                name: Some(name.to_owned()),
                debug_annotations: details.into_iter().map(annotation).collect(),
                ..TrackEvent::default()
            },
        )?;
        self.event(
            end_ns,
            TrackEvent {
                r#type: Some(EventType::SliceEnd as i32),
                track_uuid: Some(track.0),
                ..TrackEvent::default()
            },
        )
    }

    /// Something without a length.
    pub fn instant(
        &mut self,
        track: Track,
        time_ns: u64,
        category: &str,
        name: &str,
    ) -> io::Result<()> {
        self.event(
            time_ns,
            TrackEvent {
                r#type: Some(EventType::Instant as i32),
                track_uuid: Some(track.0),
                categories: vec![category.to_owned()],
                name: Some(name.to_owned()),
                ..TrackEvent::default()
            },
        )
    }

    /// A counter's value from `time_ns` on.
    pub fn value(&mut self, track: Track, time_ns: u64, value: f64) -> io::Result<()> {
        self.event(
            time_ns,
            TrackEvent {
                r#type: Some(EventType::Counter as i32),
                track_uuid: Some(track.0),
                double_counter_value: Some(value),
                ..TrackEvent::default()
            },
        )
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> io::Result<Track> {
        let uuid = self.next_uuid;
        self.next_uuid += 1;
        self.packet(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(uuid),
                ..descriptor
            }),
            ..TracePacket::default()
        })?;
        Ok(Track(uuid))
    }

    fn event(&mut self, time_ns: u64, event: TrackEvent) -> io::Result<()> {
        self.packet(TracePacket {
            timestamp: Some(time_ns),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            ..packet
        };
        self.out.write_all(
            &Trace {
                packet: vec![packet],
            }
            .encode_to_vec(),
        )
    }
}

fn annotation(detail: Detail) -> DebugAnnotation {
    match detail {
        Detail::Number(name, value) => DebugAnnotation {
            name: Some(name.to_owned()),
            uint_value: Some(value),
            ..DebugAnnotation::default()
        },
        Detail::Text(name, value) => DebugAnnotation {
            name: Some(name.to_owned()),
            string_value: Some(value),
            ..DebugAnnotation::default()
        },
    }
}
