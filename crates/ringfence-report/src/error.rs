//! What can go wrong.

use ringfence_record::RecordError;

/// Why a report was not written, or not completely.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file or pipe refused the bytes.
    #[error("cannot write the report: {0}")]
    Io(#[from] std::io::Error),
    /// The file or pipe refused the rows.
    #[error("cannot write the table: {0}")]
    Csv(#[from] ::csv::Error),
    /// The file or pipe refused the values.
    #[error("cannot write the values: {0}")]
    Json(#[from] serde_json::Error),
    /// The record is damaged; what came before is written.
    #[error(transparent)]
    Record(#[from] RecordError),
}
