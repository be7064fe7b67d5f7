//! Trace programs: a trace that can be replayed, and a job that it has.

use std::io;
use std::path::Path;

use ringfence_trace::{Error, Reader};

use super::Checker;
use crate::diagnostic::Span;
use crate::file::program as file;
use crate::files::FileKind;
use crate::model::Trace;

impl Checker<'_> {
    pub(super) fn trace(&mut self, trace: &file::Trace) -> Option<Trace> {
        let given = Path::new(&trace.file.value.0);
        let path = self.base.join(given);
        let span = trace.file.span;
        // Every block is read once and checked; accesses are decoded when the trace is replayed.
        let jobs = self
            .files
            .open(FileKind::Trace, self.base, given)
            .map_err(Error::from)
            .and_then(|input| Reader::new(input)?.count_jobs())
            .map_err(|error| self.refuse_trace(&path, span, &error))
            .ok()?;
        if jobs == 0 {
            self.problems.report_with_help(
                span,
                format!("a trace without jobs, {}", path.display()),
                "at least one job",
                "record a program that runs to its end",
            );
            return None;
        }
        if let Some(job) = trace.job.as_ref().filter(|job| job.value.0 >= jobs) {
            let expected = match jobs {
                1 => format!("job 0, the only one of {}", path.display()),
                _ => format!("a job from 0 to {} of {}", jobs - 1, path.display()),
            };
            self.problems
                .report(job.span, format!("job {}", job.value.0), expected);
            return None;
        }
        Some(Trace {
            path,
            job: trace.job.as_ref().map(|job| job.value.0 as u32),
        })
    }

    fn refuse_trace(&mut self, path: &Path, span: Span, error: &Error) {
        let path = path.display();
        let (found, expected, help) = match error {
            Error::Io(error) if error.kind() == io::ErrorKind::NotFound => (
                format!("no file {path}"),
                "a trace file, relative to the folder of the scenario file".to_owned(),
                "`ringfence trace record -- COMMAND` records one",
            ),
            Error::Io(error) => (
                format!("{path}, which cannot be read ({})", error.kind()),
                "a trace file".to_owned(),
                "check that it is a file and that you may read it",
            ),
            Error::NotATrace => (
                format!("{path}, which does not begin with \"rftrace\""),
                "a trace file".to_owned(),
                "`ringfence trace record -- COMMAND` records one",
            ),
            Error::Version { found, expected } => (
                format!("{path}, a trace of format version {found}"),
                format!("version {expected}"),
                "record the program again with this ringfence",
            ),
            Error::Damaged {
                place,
                offset,
                reason,
            } => (
                format!("{path}, a trace damaged {place} at byte {offset}: {reason}"),
                "a complete trace".to_owned(),
                "copy or record it again",
            ),
            other => (
                format!("{path}: {other}"),
                "a trace file".to_owned(),
                "record the program again",
            ),
        };
        self.problems.report_with_help(span, found, expected, help);
    }
}
