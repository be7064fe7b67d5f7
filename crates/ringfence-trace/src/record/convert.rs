//! From lackey's text to a trace.

use super::instruction_cache::{InstructionCache, LINE_BYTES};
use super::{Progress, RecordError, RecordOptions};
use crate::access::{Kind, PAGE_BYTES};
use crate::job_mark::{BEGIN_OFFSET, END_OFFSET, PAGE_ADDRESS};
use crate::lackey::{self, Line};
use crate::pages::PageMap;
use crate::{Metadata, Writer};
use std::io::{BufRead, Read, Write};

/// A longer line is an error; valgrind's messages can hold a whole command line.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Lines between two reports of progress.
const PROGRESS_LINES: u64 = 1 << 20;

const MARK_PAGE: u64 = PAGE_ADDRESS / PAGE_BYTES;

const WRITER_PRESENT: &str = "the writer is absent only inside `restart`";

/// What the stream held.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Whether job marks were seen.
    pub marked: bool,
    /// Jobs written.
    pub jobs: u64,
    /// Accesses written.
    pub accesses: u64,
    /// Whether the last job was cut: by the limit on accesses, or by the end of the program.
    pub cut: bool,
    /// Whether a limit was reached, so that the rest of the program does not matter.
    pub limited: bool,
    /// The last messages of valgrind.
    pub messages: Vec<String>,
}

/// Where in the program's jobs the stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No mark was seen.
    Unmarked,
    /// After the end of a job.
    Between,
    /// Inside a marked job.
    InJob,
}

/// Reads all of `input` and writes the trace to what `open` gives.
///
/// `open` is called again, after its last writer was dropped, when the first
/// mark shows that what was written so far belongs to no job.
///
/// # Errors
/// A line that lackey does not write, marks out of order, or a failing stream.
pub fn convert<W: Write>(
    mut input: impl BufRead,
    metadata: &Metadata,
    options: &RecordOptions,
    open: &mut dyn FnMut() -> std::io::Result<W>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Converted, RecordError> {
    let mut converter = Converter::new(metadata, options, open)?;
    let mut line = Vec::new();
    let mut number = 0;
    while !converter.done.limited {
        line.clear();
        number += 1;
        let mut limited = input.by_ref().take(MAX_LINE_BYTES);
        if limited.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let parsed = lackey::parse_line(text).map_err(|expected| RecordError::Line {
            number,
            found: String::from_utf8_lossy(&text[..text.len().min(80)]).into_owned(),
            expected,
        })?;
        converter.line(parsed, number)?;
        if number % PROGRESS_LINES == 0 {
            progress(converter.progress());
        }
    }
    converter.finish()
}

struct Converter<'a, W: Write> {
    /// `None` only while `restart` replaces it: the old one must be dropped first.
    writer: Option<Writer<W>>,
    open: &'a mut dyn FnMut() -> std::io::Result<W>,
    metadata: Metadata,
    options: &'a RecordOptions,
    pages: PageMap,
    instruction_cache: Option<InstructionCache>,
    phase: Phase,
    /// Instructions without an access since the last access.
    instructions: u64,
    /// The last instruction had no access yet.
    instruction_open: bool,
    done: Converted,
}

impl<'a, W: Write> Converter<'a, W> {
    fn new(
        metadata: &Metadata,
        options: &'a RecordOptions,
        open: &'a mut dyn FnMut() -> std::io::Result<W>,
    ) -> Result<Self, RecordError> {
        let metadata = Metadata {
            marked_jobs: false,
            instruction_lines: options.instruction_lines,
            ..metadata.clone()
        };
        Ok(Self {
            writer: Some(Writer::new(open()?, &metadata)?),
            open,
            metadata,
            options,
            pages: PageMap::default(),
            instruction_cache: options.instruction_lines.then(InstructionCache::new),
            phase: Phase::Unmarked,
            instructions: 0,
            instruction_open: false,
            done: Converted::default(),
        })
    }

    fn line(&mut self, line: Line<'_>, number: u64) -> Result<(), RecordError> {
        match line {
            Line::Instruction { address, size } => {
                self.instructions += u64::from(self.instruction_open);
                self.instruction_open = false;
                self.fetch(address, size)?;
                self.instruction_open = true;
            }
            Line::Access { address, kind, .. } if address / PAGE_BYTES == MARK_PAGE => {
                if kind == Kind::Store && !self.options.whole_run {
                    self.mark(address - PAGE_ADDRESS, number)?;
                }
            }
            Line::Access {
                kind,
                address,
                size,
            } => self.access(kind, address, size)?,
            Line::Message(text) => self.message(text),
        }
        Ok(())
    }

    /// The lines of an instruction that are not in the instruction cache come before it.
    fn fetch(&mut self, address: u64, size: u64) -> Result<(), RecordError> {
        let Some(cache) = &mut self.instruction_cache else {
            return Ok(());
        };
        let lines: Vec<u64> = cache.fetch(address, size).collect();
        for line in lines {
            self.access(Kind::Load, line * LINE_BYTES, LINE_BYTES)?;
        }
        Ok(())
    }

    fn access(&mut self, kind: Kind, address: u64, size: u64) -> Result<(), RecordError> {
        let recorded = match self.phase {
            Phase::Unmarked => !self.options.marked_jobs_only,
            Phase::Between => false,
            Phase::InJob => true,
        };
        if recorded {
            let instructions =
                u32::try_from(self.instructions).map_err(|_| RecordError::NoAccessForTooLong)?;
            let writer = self.writer.as_mut().expect(WRITER_PRESENT);
            for access in self.pages.translate(kind, address, size, instructions) {
                writer.access(access)?;
                self.done.accesses += 1;
            }
        }
        self.instructions = 0;
        self.instruction_open = false;
        let limit = self.options.max_accesses;
        self.done.limited = limit.is_some_and(|limit| self.done.accesses >= limit);
        Ok(())
    }

    fn mark(&mut self, offset: u64, line: u64) -> Result<(), RecordError> {
        match (offset, self.phase) {
            (BEGIN_OFFSET, Phase::Unmarked) => {
                self.restart()?;
                self.phase = Phase::InJob;
            }
            (BEGIN_OFFSET, Phase::Between) => self.phase = Phase::InJob,
            (BEGIN_OFFSET, Phase::InJob) => {
                return Err(RecordError::MarkOrder {
                    line,
                    what: "a job begins inside a job",
                });
            }
            (END_OFFSET, Phase::InJob) => {
                self.end_job(false)?;
                self.phase = Phase::Between;
                if self.options.max_jobs == Some(self.done.jobs) {
                    self.done.limited = true;
                }
            }
            (END_OFFSET, _) => {
                return Err(RecordError::MarkOrder {
                    line,
                    what: "a job ends that did not begin",
                });
            }
            _ => {}
        }
        self.instructions = 0;
        self.instruction_open = false;
        Ok(())
    }

    /// Forgets what was recorded before the first job.
    fn restart(&mut self) -> Result<(), RecordError> {
        self.metadata.marked_jobs = true;
        self.writer = None;
        self.writer = Some(Writer::new((self.open)()?, &self.metadata)?);
        self.pages = PageMap::default();
        self.done.accesses = 0;
        self.done.marked = true;
        Ok(())
    }

    fn end_job(&mut self, count_open_instruction: bool) -> Result<(), RecordError> {
        let open = count_open_instruction && self.instruction_open;
        let writer = self.writer.as_mut().expect(WRITER_PRESENT);
        writer.end_job(self.instructions + u64::from(open))?;
        self.done.jobs += 1;
        Ok(())
    }

    fn message(&mut self, text: &[u8]) {
        const KEPT: usize = 20;
        if self.done.messages.len() == KEPT {
            self.done.messages.remove(0);
        }
        let text = String::from_utf8_lossy(text).into_owned();
        self.done.messages.push(text);
    }

    fn progress(&self) -> Progress {
        Progress {
            jobs: self.done.jobs,
            accesses: self.done.accesses,
        }
    }

    fn finish(mut self) -> Result<Converted, RecordError> {
        match self.phase {
            Phase::Unmarked if self.options.marked_jobs_only => return Err(RecordError::NoMarks),
            Phase::Unmarked if self.done.accesses == 0 => {
                return Err(RecordError::NothingRecorded {
                    messages: self.done.messages.join("\n"),
                });
            }
            Phase::Unmarked => {
                self.end_job(true)?;
                self.done.cut = self.done.limited;
            }
            Phase::InJob => {
                self.end_job(true)?;
                self.done.cut = true;
            }
            Phase::Between => {}
        }
        self.writer.expect(WRITER_PRESENT).finish()?;
        Ok(self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Reader};
    use std::cell::RefCell;

    const BEGIN: &str = "I  10,3\n S 66d610000,1\n";
    const END: &str = "I  10,3\n S 66d610040,1\n";

    /// Writes into a buffer that it emptied when it was opened.
    struct Sink<'a>(&'a RefCell<Vec<u8>>);

    impl Write for Sink<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn metadata() -> Metadata {
        Metadata {
            program: "p".into(),
            arguments: Vec::new(),
            isa: "x86_64".into(),
            compilers: Vec::new(),
            program_sha256: String::new(),
            recorder: "test".into(),
            address_granularity_bytes: 1,
            marked_jobs: false,
            instruction_lines: false,
        }
    }

    type Jobs = Vec<(Vec<Access>, u64)>;

    fn run(text: &str, options: &RecordOptions) -> Result<(Converted, Jobs), RecordError> {
        let bytes = RefCell::new(Vec::new());
        let mut open = || {
            bytes.borrow_mut().clear();
            Ok(Sink(&bytes))
        };
        let input = text.as_bytes();
        let done = convert(input, &metadata(), options, &mut open, &mut |_| {})?;
        let bytes = bytes.into_inner();
        let mut reader = Reader::new(bytes.as_slice())?;
        assert_eq!(reader.metadata().marked_jobs, done.marked);
        let mut jobs = Vec::new();
        while let Some(mut job) = reader.next_job()? {
            let accesses = job.by_ref().collect::<Result<Vec<_>, _>>()?;
            jobs.push((accesses, job.instructions_after().unwrap()));
        }
        Ok((done, jobs))
    }

    fn access(kind: Kind, address: u64, size: u8, instructions_before: u32) -> Access {
        Access {
            address,
            instructions_before,
            size,
            kind,
        }
    }

    #[test]
    fn without_marks_the_run_is_one_job() {
        let text = "==1== Lackey\nI  10,3\nI  13,3\n L 7000,8\n S 9008,4\nI  16,1\n M 7008,8\nI  17,1\nI  18,2\n";
        let (done, jobs) = run(text, &RecordOptions::default()).unwrap();
        let expected = vec![
            access(Kind::Load, 0, 8, 1),
            access(Kind::Store, 4096 + 8, 4, 0),
            access(Kind::Modify, 8, 8, 0),
        ];
        assert_eq!(jobs, [(expected, 2)]);
        assert!(!done.marked && !done.cut);
        assert_eq!((done.jobs, done.accesses), (1, 3));
        assert_eq!(done.messages, ["==1== Lackey"]);
    }

    #[test]
    fn marks_select_the_jobs() {
        let job = "I  20,1\nI  21,1\n L 9000,8\nI  22,1\n";
        let text = format!("I  10,3\n L 7000,8\n{BEGIN}{job}{END}{job}{BEGIN}{job}{job}{END}{job}");
        let (done, jobs) = run(&text, &RecordOptions::default()).unwrap();
        let first = access(Kind::Load, 0, 8, 1);
        let second = access(Kind::Load, 0, 8, 2);
        assert_eq!(jobs, [(vec![first], 1), (vec![first, second], 1)]);
        assert!(done.marked && !done.cut && !done.limited);
    }

    #[test]
    fn a_whole_run_has_what_lies_outside_the_marks_too() {
        let text = format!("I  20,1\n L 9000,8\n{BEGIN}I  21,1\n L 9008,8\n{END}I  22,1\n");
        let options = RecordOptions {
            whole_run: true,
            ..Default::default()
        };
        let (done, jobs) = run(&text, &options).unwrap();
        // The stores that mark are no accesses, but instructions.
        let expected = vec![access(Kind::Load, 0, 8, 0), access(Kind::Load, 8, 8, 1)];
        assert_eq!(jobs, [(expected, 2)]);
        assert!(!done.marked && !done.cut);
    }

    #[test]
    fn lines_of_instructions_that_are_not_cached_are_loads_before_their_first_instruction() {
        let text = "I  103c,4\nI  1040,4\n L 9000,8\nI  103c,4\nI  1044,4\n L 9008,8\n";
        let options = RecordOptions {
            instruction_lines: true,
            ..Default::default()
        };
        let (_, jobs) = run(text, &options).unwrap();
        let expected = vec![
            access(Kind::Load, 0, 64, 0),
            access(Kind::Load, 64, 64, 1),
            access(Kind::Load, 4096, 8, 0),
            access(Kind::Load, 4096 + 8, 8, 1),
        ];
        assert_eq!(jobs, [(expected, 0)]);
    }

    #[test]
    fn limits_stop_the_recording() {
        let job = "I  21,1\n L 9000,8\nI  21,1\n L 9ffc,8\n";
        let text = format!("{job}{BEGIN}{job}{END}{BEGIN}{job}{END}");
        let one_job = RecordOptions {
            max_jobs: Some(1),
            ..Default::default()
        };
        let (done, jobs) = run(&text, &one_job).unwrap();
        assert_eq!((jobs.len(), done.cut, done.limited), (1, false, true));
        let four = RecordOptions {
            max_accesses: Some(4),
            marked_jobs_only: true,
            ..Default::default()
        };
        let (done, jobs) = run(&text, &four).unwrap();
        assert_eq!((jobs.len(), jobs[1].0.len()), (2, 1));
        assert!(done.cut && done.limited);
        let in_start_up = RecordOptions {
            max_accesses: Some(2),
            ..Default::default()
        };
        let (done, _) = run(&text, &in_start_up).unwrap();
        assert!(done.cut && !done.marked);
    }

    #[test]
    fn what_cannot_be_a_recording_is_refused() {
        let fails = |text: &str, marked_jobs_only| {
            let options = RecordOptions {
                marked_jobs_only,
                ..Default::default()
            };
            run(text, &options).unwrap_err().to_string()
        };
        let message = fails("I  10,3\nnonsense\n", false);
        assert!(message.contains("line 2") && message.contains("nonsense"));
        assert!(fails(END, false).contains("did not begin"));
        assert!(fails(&format!("{BEGIN}{BEGIN}"), false).contains("inside a job"));
        assert!(fails("==1== cannot run\n", false).contains("cannot run"));
        assert!(fails("I  10,3\n L 7000,8\n", true).contains("marked no job"));
    }

    #[test]
    fn a_program_that_ends_in_a_job_leaves_it_cut() {
        let (done, jobs) = run(&format!("{BEGIN} L 9000,8\n"), &RecordOptions::default()).unwrap();
        assert!(done.cut && !done.limited);
        assert_eq!(jobs.len(), 1);
    }
}
