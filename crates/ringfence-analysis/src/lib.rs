//! Verdicts and statistics, computed from the record alone.
