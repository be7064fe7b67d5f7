//! Writes a trace as it is recorded.

use crate::access::Access;
use crate::block::{self, BlockKind};
use crate::codec::{Encoder, MAX_ACCESSES};
use crate::{Error, MAGIC, Metadata, VERSION};
use std::io::Write;

/// Most bytes of encoded metadata.
pub(crate) const MAX_METADATA_BYTES: usize = 64 << 10;

/// Writes a trace: the accesses of a job, the end of that job, and so on.
///
/// Memory use does not depend on the length of the trace. Give it a buffered
/// stream.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    encoder: Encoder,
    jobs: u64,
    job_accesses: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a trace.
    ///
    /// # Errors
    /// The stream fails or the metadata is longer than 64 KiB.
    pub fn new(mut out: W, metadata: &Metadata) -> Result<Self, Error> {
        let encoded = serde_json::to_vec(metadata).map_err(std::io::Error::from)?;
        if encoded.len() > MAX_METADATA_BYTES {
            return Err(Error::MetadataTooLong {
                found: encoded.len(),
                expected: MAX_METADATA_BYTES,
            });
        }
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        block::write(&mut out, BlockKind::Metadata, &encoded)?;
        Ok(Self {
            out,
            encoder: Encoder::default(),
            jobs: 0,
            job_accesses: 0,
        })
    }

    /// Adds an access to the current job.
    ///
    /// # Errors
    /// The stream fails or the access breaks a rule of [`Access`].
    pub fn access(&mut self, access: Access) -> Result<(), Error> {
        if let Some(defect) = access.defect() {
            return Err(Error::Access(defect));
        }
        self.encoder.push(access);
        self.job_accesses += 1;
        if self.encoder.len() == MAX_ACCESSES {
            self.write_accesses()?;
        }
        Ok(())
    }

    /// Ends the current job, `instructions_after` instructions after its last access.
    ///
    /// # Errors
    /// The stream fails.
    pub fn end_job(&mut self, instructions_after: u64) -> Result<(), Error> {
        if self.encoder.len() > 0 {
            self.write_accesses()?;
        }
        let mut end = [0; 16];
        end[..8].copy_from_slice(&self.job_accesses.to_le_bytes());
        end[8..].copy_from_slice(&instructions_after.to_le_bytes());
        block::write(&mut self.out, BlockKind::JobEnd, &end)?;
        self.jobs += 1;
        self.job_accesses = 0;
        Ok(())
    }

    /// Jobs ended so far.
    pub fn jobs(&self) -> u64 {
        self.jobs
    }

    /// Accesses of the current job so far.
    pub fn job_accesses(&self) -> u64 {
        self.job_accesses
    }

    /// Ends the trace and gives the flushed stream back. A trace that was not
    /// finished reads as truncated.
    ///
    /// # Errors
    /// The stream fails or a job has not ended.
    pub fn finish(mut self) -> Result<W, Error> {
        if self.job_accesses > 0 {
            return Err(Error::UnfinishedJob(self.jobs));
        }
        let end = self.jobs.to_le_bytes();
        block::write(&mut self.out, BlockKind::TraceEnd, &end)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_accesses(&mut self) -> Result<(), Error> {
        let payload = self.encoder.take_payload()?;
        block::write(&mut self.out, BlockKind::Accesses, &payload)?;
        Ok(())
    }
}
