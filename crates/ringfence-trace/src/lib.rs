//! Memory-access traces of real programs: format and recorder.
