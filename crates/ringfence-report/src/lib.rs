//! Reports of a record: terminal, HTML, Perfetto, CSV, JSON.
