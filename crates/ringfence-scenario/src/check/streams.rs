//! Programs that walk over arrays with strides.

use super::Checker;
use super::program::passes;
use crate::diagnostic::Span;
use crate::file::Located;
use crate::file::program as file;
use crate::file::value::{Count, Size};
use crate::model::{Program, Streams, Strided};
use crate::quantity::SIZE;

impl Checker<'_> {
    pub(super) fn streams(
        &mut self,
        program: &file::Streams,
        span: Span,
        threads: u16,
    ) -> Option<Program> {
        let (reads, writes) = (program.reads.value.0, program.writes.value.0);
        if reads + writes == 0 {
            self.problems.report(
                span,
                "a `streams` program without an array",
                "`reads` or `writes` above zero",
            );
        }
        let array = &program.array;
        self.check_working_set(array, u64::from(threads), "one cache line a thread");
        let line_bytes = self.platform.memory.as_ref()?.line_bytes;
        Some(Program::Streams(Streams {
            reads: reads as u8,
            writes: writes as u8,
            array_bytes: array.value.0,
            stride_bytes: match &program.stride {
                Some(stride) => self.stride_of_lines(stride, line_bytes, array.value.0),
                None => line_bytes.into(),
            },
            compute_cycles: cycles(&program.compute_cycles),
            passes: passes(&program.passes),
        }))
    }

    pub(super) fn strided(&mut self, program: &file::Strided) -> Program {
        let buffer = &program.working_set;
        self.check_working_set(buffer, 1, "one cache line");
        Program::Strided(Strided {
            working_set_bytes: buffer.value.0,
            change_stride_bytes: self.stride(&program.change_stride, buffer.value.0),
            read_stride_bytes: self.stride(&program.read_stride, buffer.value.0),
            compute_cycles: cycles(&program.compute_cycles),
            passes: passes(&program.passes),
        })
    }

    /// A stride of whole lines, no longer than what is walked.
    fn stride_of_lines(&mut self, stride: &Located<Size>, line_bytes: u32, most_bytes: u64) -> u64 {
        let bytes = stride.value.0;
        if bytes == 0 || bytes > most_bytes || !bytes.is_multiple_of(line_bytes.into()) {
            self.problems.report(
                stride.span,
                format!("a stride of {}", SIZE.format(bytes)),
                format!(
                    "a multiple of the cache line, {line_bytes} B, up to the array, {}",
                    SIZE.format(most_bytes)
                ),
            );
        }
        bytes
    }

    /// A stride no longer than what is walked.
    fn stride(&mut self, stride: &Located<Size>, most_bytes: u64) -> u64 {
        let bytes = stride.value.0;
        if bytes == 0 || bytes > most_bytes {
            self.problems.report(
                stride.span,
                format!("a stride of {}", SIZE.format(bytes)),
                format!("1 B up to the working set, {}", SIZE.format(most_bytes)),
            );
        }
        bytes
    }
}

fn cycles(count: &Option<Located<Count<0, 4_294_967_295>>>) -> u32 {
    count.as_ref().map_or(0, |count| count.value.0 as u32)
}
