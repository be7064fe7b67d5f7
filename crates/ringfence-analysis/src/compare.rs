//! Two cases, or two records, side by side.
