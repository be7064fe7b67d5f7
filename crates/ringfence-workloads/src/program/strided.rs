//! Two walkers with strides of their own over one buffer, byte by byte.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use ringfence_scenario::model;

use super::{Part, ProgramError, Setting, memory};
use crate::cycles;
use crate::large_pages::SharedPages;

/// Steps of a piece of endless work.
const STEPS: u64 = 10_000;

struct Strided {
    buffer: Arc<SharedPages<AtomicU8>>,
    compute_cycles: u64,
    /// Byte at which a job begins.
    start: u64,
    changer: Walker,
    reader: Walker,
    /// Steps of the sweep that are done.
    step: u64,
    changes: bool,
    passes: u32,
}

/// A place in the buffer that moves on by a stride, round the end.
#[derive(Debug, Clone, Copy)]
struct Walker {
    at: u64,
    stride: u64,
}

impl Walker {
    fn step(&mut self, bytes: u64) -> usize {
        self.at += self.stride;
        if self.at >= bytes {
            self.at -= bytes;
        }
        self.at as usize
    }
}

pub(super) fn prepare(
    model: &model::Strided,
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    let bytes = setting.lines(model.working_set_bytes) * setting.line_bytes;
    let buffer = Arc::new(memory(bytes)?.share());
    let bound = u32::try_from(bytes).unwrap_or(u32::MAX);
    let threads = (0..setting.threads).map(|thread| {
        let walker = |stride: u64| Walker {
            at: 0,
            stride: stride.min(bytes),
        };
        let mut strided = Strided {
            buffer: Arc::clone(&buffer),
            compute_cycles: model.compute_cycles.into(),
            start: setting.random(thread).below(bound).into(),
            changer: walker(model.change_stride_bytes),
            reader: walker(model.read_stride_bytes),
            step: 0,
            changes: true,
            passes: model.passes,
        };
        strided.begin();
        Box::new(strided) as Box<dyn Part>
    });
    Ok(threads.collect())
}

impl Strided {
    fn begin(&mut self) {
        let bytes = self.buffer.len() as u64;
        self.changer.at = self.start;
        self.reader.at = (self.start + bytes / 2) % bytes;
        self.step = 0;
        self.changes = true;
    }

    fn run(&mut self, steps: u64) {
        let bytes = self.buffer.len() as u64;
        let mut sum = 0_u8;
        for _ in 0..steps {
            cycles::spend(self.compute_cycles);
            sum = sum.wrapping_add(self.buffer[self.reader.step(bytes)].load(Relaxed));
            let byte = &self.buffer[self.changer.step(bytes)];
            let value = byte.load(Relaxed);
            match self.changes {
                // Not one atomic addition: threads do not wait for each other.
                true => byte.store(value.wrapping_add(1), Relaxed),
                false => sum = sum.wrapping_add(value),
            }
            self.step += 1;
            if self.step == bytes {
                self.step = 0;
                self.changes = !self.changes;
            }
        }
        black_box(sum);
    }
}

impl Part for Strided {
    fn job(&mut self, _job: u64) {
        self.begin();
        self.run(self.buffer.len() as u64 * u64::from(self.passes));
    }

    fn step(&mut self) -> u64 {
        self.run(STEPS);
        2 * STEPS
    }
}
