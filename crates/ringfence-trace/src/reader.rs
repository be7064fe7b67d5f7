//! Reads a trace job by job.

use crate::access::Access;
use crate::block::{self, BlockError, BlockKind, HEADER_BYTES};
use crate::codec::Decoder;
use crate::error::Place;
use crate::{Error, MAGIC, Metadata, VERSION};
use std::io::{BufReader, Read};

/// Reads a trace. Memory use does not depend on the length of the trace.
///
/// ```no_run
/// # fn main() -> Result<(), ringfence_trace::Error> {
/// let file = std::fs::File::open("susan-corners.rftrace")?;
/// let mut trace = ringfence_trace::Reader::new(file)?;
/// while let Some(mut job) = trace.next_job()? {
///     while let Some(access) = job.next_access()? {
///         println!("{:#x}", access.address);
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: BufReader<R>,
    metadata: Metadata,
    /// Byte at which the next block starts.
    offset: u64,
    /// Jobs begun so far.
    jobs: u64,
    /// Whether the current job's end was not met yet.
    in_job: bool,
    at_end: bool,
    payload: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Reads the header. The stream need not be buffered.
    ///
    /// # Errors
    /// The stream fails, is no trace, is of another version, or its header is damaged.
    pub fn new(input: R) -> Result<Self, Error> {
        let mut input = BufReader::new(input);
        let mut start = Vec::new();
        let length = MAGIC.len() + size_of::<u32>();
        input.by_ref().take(length as u64).read_to_end(&mut start)?;
        let version = match start.strip_prefix(&MAGIC) {
            None => return Err(Error::NotATrace),
            Some([a, b, c, d]) => u32::from_le_bytes([*a, *b, *c, *d]),
            Some(_) => {
                return Err(Error::Damaged {
                    place: Place::Header,
                    offset: MAGIC.len() as u64,
                    reason: "the file ends in the version number (truncated)".into(),
                });
            }
        };
        if version != VERSION {
            return Err(Error::Version {
                found: version,
                expected: VERSION,
            });
        }
        let offset = length as u64;
        let mut payload = Vec::new();
        let metadata = read_metadata(&mut input, &mut payload).map_err(|error| match error {
            BlockError::Io(error) => Error::Io(error),
            BlockError::Damaged(reason) => Error::Damaged {
                place: Place::Header,
                offset,
                reason,
            },
        })?;
        Ok(Self {
            input,
            metadata,
            offset: offset + (HEADER_BYTES + payload.len()) as u64,
            jobs: 0,
            in_job: false,
            at_end: false,
            payload,
        })
    }

    /// What the trace says about its origin.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The next job, `None` after the last. Skips what is unread of the job before it.
    ///
    /// # Errors
    /// The stream fails or the trace is damaged.
    pub fn next_job(&mut self) -> Result<Option<Job<'_, R>>, Error> {
        while self.in_job {
            self.in_job = self.next_block()? != BlockKind::JobEnd;
        }
        if self.at_end {
            return Ok(None);
        }
        let number = self.jobs;
        let offset = self.offset;
        let first = self.next_block()?;
        if first == BlockKind::TraceEnd {
            self.check_end(number, offset)?;
            return Ok(None);
        }
        self.jobs += 1;
        let mut job = Job {
            number,
            reader: self,
            decoder: Decoder::default(),
            block_offset: offset,
            accesses: 0,
            instructions_after: None,
        };
        job.reader.in_job = true;
        job.enter_block(first, offset)?;
        Ok(Some(job))
    }

    /// Reads the rest of the trace and gives the number of its jobs. The frame and
    /// checksum of every block are checked, but no access is decoded.
    ///
    /// # Errors
    /// The stream fails or the trace is damaged.
    pub fn count_jobs(mut self) -> Result<u64, Error> {
        while !self.at_end {
            let offset = self.offset;
            let kind = self.next_block()?;
            match kind {
                BlockKind::Accesses | BlockKind::JobEnd => {
                    self.jobs += u64::from(!self.in_job);
                    self.in_job = kind == BlockKind::Accesses;
                }
                BlockKind::TraceEnd if !self.in_job => self.check_end(self.jobs, offset)?,
                BlockKind::Metadata | BlockKind::TraceEnd => {
                    return Err(self.misplaced(offset));
                }
            }
        }
        Ok(self.jobs)
    }

    /// Reads a block into `self.payload`.
    fn next_block(&mut self) -> Result<BlockKind, Error> {
        let kind =
            block::read(&mut self.input, &mut self.payload).map_err(|error| match error {
                BlockError::Io(error) => Error::Io(error),
                BlockError::Damaged(reason) => self.damaged(self.offset, reason),
            })?;
        self.offset += (HEADER_BYTES + self.payload.len()) as u64;
        Ok(kind)
    }

    fn check_end(&mut self, jobs: u64, offset: u64) -> Result<(), Error> {
        if self.payload != jobs.to_le_bytes() {
            return Err(self.damaged(offset, "the number of jobs does not agree".into()));
        }
        let mut surplus = [0];
        if self.input.read(&mut surplus)? > 0 {
            let reason = "bytes after the end of the trace".into();
            return Err(self.damaged(self.offset, reason));
        }
        self.at_end = true;
        Ok(())
    }

    fn misplaced(&self, offset: u64) -> Error {
        self.damaged(offset, "a block that does not belong in a job".into())
    }

    fn damaged(&self, offset: u64, reason: String) -> Error {
        let job = if self.in_job {
            self.jobs - 1
        } else {
            self.jobs
        };
        Error::Damaged {
            place: Place::Job(job),
            offset,
            reason,
        }
    }
}

fn read_metadata(input: &mut impl Read, payload: &mut Vec<u8>) -> Result<Metadata, BlockError> {
    let kind = block::read(input, payload)?;
    if kind != BlockKind::Metadata {
        return Err(BlockError::Damaged("no metadata".into()));
    }
    serde_json::from_slice(payload)
        .map_err(|error| BlockError::Damaged(format!("metadata that cannot be read: {error}")))
}

/// One job of a trace that is being read.
#[derive(Debug)]
pub struct Job<'a, R: Read> {
    number: u64,
    reader: &'a mut Reader<R>,
    decoder: Decoder,
    /// Start of the block in `decoder`.
    block_offset: u64,
    accesses: u64,
    instructions_after: Option<u64>,
}

impl<R: Read> Job<'_, R> {
    /// Number of the job, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Instructions after the last access of the job; `None` before the end was reached.
    pub fn instructions_after(&self) -> Option<u64> {
        self.instructions_after
    }

    /// The next access, `None` at the end of the job.
    ///
    /// # Errors
    /// The stream fails or the trace is damaged.
    pub fn next_access(&mut self) -> Result<Option<Access>, Error> {
        loop {
            let access = self
                .decoder
                .next()
                .map_err(|reason| self.reader.damaged(self.block_offset, reason.into()))?;
            if access.is_some() {
                self.accesses += 1;
                return Ok(access);
            }
            if self.instructions_after.is_some() {
                return Ok(None);
            }
            let offset = self.reader.offset;
            let kind = self.reader.next_block()?;
            self.enter_block(kind, offset)?;
        }
    }

    fn enter_block(&mut self, kind: BlockKind, offset: u64) -> Result<(), Error> {
        self.block_offset = offset;
        match kind {
            BlockKind::Accesses => {
                self.decoder = Decoder::new(&self.reader.payload)
                    .map_err(|reason| self.reader.damaged(offset, reason.into()))?;
            }
            BlockKind::JobEnd => self.end(offset)?,
            BlockKind::Metadata | BlockKind::TraceEnd => {
                return Err(self.reader.misplaced(offset));
            }
        }
        Ok(())
    }

    fn end(&mut self, offset: u64) -> Result<(), Error> {
        let payload: &[u8; 16] = match self.reader.payload.as_slice().try_into() {
            Ok(payload) => payload,
            Err(_) => return Err(self.reader.damaged(offset, "a cut end of job".into())),
        };
        let value = u128::from_le_bytes(*payload);
        let (accesses, instructions_after) = (value as u64, (value >> 64) as u64);
        if accesses != self.accesses {
            let reason = format!("{} accesses, expected {accesses}", self.accesses);
            return Err(self.reader.damaged(offset, reason));
        }
        self.instructions_after = Some(instructions_after);
        self.reader.in_job = false;
        Ok(())
    }
}

impl<R: Read> Iterator for Job<'_, R> {
    type Item = Result<Access, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_access().transpose()
    }
}

/// Reads a whole trace and gives the accesses of each job: a check of a file,
/// and the entry for fuzzing.
///
/// # Errors
/// See [`Reader`].
pub fn read_all(bytes: &[u8]) -> Result<Vec<u64>, Error> {
    let mut reader = Reader::new(bytes)?;
    let mut accesses = Vec::new();
    while let Some(mut job) = reader.next_job()? {
        while job.next_access()?.is_some() {}
        accesses.push(job.accesses);
    }
    Ok(accesses)
}
