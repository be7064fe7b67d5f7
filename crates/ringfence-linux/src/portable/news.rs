//! From whom the agent hears what members do.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use libbpf_rs::MapHandle;

use super::arbiter::Arbiter;
use crate::recorder::{self, ThreadEvent};
use crate::ring::Ring;
use crate::sys;

/// The same before it has come to the agent's thread.
pub enum Source {
    /// The kernel; see [`recorder::MemberMaps`].
    Told(MapHandle),
    /// The members themselves, each by a [`Word`].
    Said(PipeReader),
}

/// What came and was not taken yet.
pub enum News {
    /// By the kernel.
    Told(Ring<ThreadEvent>),
    /// By the members.
    Said(PipeReader),
}

/// A member says that it has work, or that it goes to sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// When, on CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The thread.
    pub tid: i32,
    /// Whether it has work.
    pub has_work: bool,
}

impl Word {
    const BYTES: usize = 16;

    /// Hands it to the agent, whole.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn write(&self, mut to: &PipeWriter) -> io::Result<()> {
        to.write_all(&self.bytes())
    }

    fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.time_ns.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.tid.to_ne_bytes());
        bytes[12] = self.has_work.into();
        bytes
    }

    fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        Self {
            time_ns: u64::from_ne_bytes(*bytes.first_chunk().expect("eight of sixteen")),
            tid: i32::from_ne_bytes(*bytes[8..].first_chunk().expect("four of eight")),
            has_work: bytes[12] > 0,
        }
    }
}

impl News {
    /// Begins to listen.
    ///
    /// # Errors
    /// The ring cannot be read.
    pub fn of(source: Source) -> io::Result<Self> {
        Ok(match source {
            Source::Told(events) => {
                Self::Told(Ring::of(&events, recorder::thread_event).map_err(io::Error::other)?)
            }
            Source::Said(words) => Self::Said(words),
        })
    }

    /// What can be read when there is some.
    pub fn waits_on(&self) -> BorrowedFd<'_> {
        match self {
            Self::Told(ring) => ring.waits_on(),
            Self::Said(words) => words.as_fd(),
        }
    }

    /// Tells the arbiter all that has come.
    ///
    /// # Errors
    /// Nobody can say anything any more.
    pub fn pass_on(&mut self, arbiter: &mut Arbiter) -> io::Result<()> {
        match self {
            Self::Told(ring) => ring.drain()?.iter().for_each(|event| arbiter.told(event)),
            Self::Said(words) => {
                while sys::is_readable(words.as_fd())? {
                    let mut bytes = [0; Word::BYTES];
                    words.read_exact(&mut bytes)?;
                    arbiter.said(&Word::parse(&bytes));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for has_work in [false, true] {
            let word = Word {
                time_ns: 1 << 40,
                tid: 4711,
                has_work,
            };
            assert_eq!(Word::parse(&word.bytes()), word);
        }
    }
}
