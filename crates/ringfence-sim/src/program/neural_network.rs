//! A neural network, layer by layer, each shared by all threads.
//!
//! Where a layer has one point the threads share its outputs, otherwise its points.

use ringfence_scenario::network;

use super::barriers::Barriers;
use super::matrix_product::{Cursor, MatrixProduct, Walk};
use super::task::Task;
use super::{Access, Op};

#[derive(Debug, Clone)]
pub(crate) struct NeuralNetwork {
    /// This thread's part of each layer.
    parts: Vec<MatrixProduct>,
    /// This thread's part of the phase before the first layer, if there is one.
    serial: Option<Walk>,
    /// The same while it has not been planned.
    serial_to_plan: Option<Walk>,
    barriers: Barriers,
    cursor: Cursor,
    /// Walks that are planned, which of them comes next, and how far it is.
    walks: Vec<Walk>,
    walk: usize,
    step: u64,
}

impl NeuralNetwork {
    pub(super) fn new(task: &Task, model: &network::NeuralNetwork, thread: u16) -> Self {
        let parts = parts(task, model, thread);
        let has_serial_part = thread == 0 && model.has_serial_phase();
        let is_idle = parts.iter().all(MatrixProduct::is_empty) && !has_serial_part;
        let serial = model
            .has_serial_phase()
            .then(|| serial(task, model, thread));
        Self {
            parts,
            serial,
            serial_to_plan: serial,
            barriers: Barriers::new(model.phases(), task.endless && !is_idle),
            cursor: Cursor::default(),
            walks: Vec::new(),
            walk: 0,
            step: 0,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        loop {
            let Some(walk) = self.walks.get(self.walk) else {
                self.plan()?;
                continue;
            };
            if self.step < walk.steps() {
                self.step += 1;
                return Some(walk.op(self.step - 1));
            }
            self.walk += 1;
            self.step = 0;
        }
    }

    /// Plans more walks, perhaps none; `None` while the thread waits for others.
    fn plan(&mut self) -> Option<()> {
        self.walks.clear();
        self.walk = 0;
        let phase = self.barriers.phase()?;
        let layer = match self.serial {
            Some(_) => phase.checked_sub(1),
            None => Some(phase),
        };
        let has_more = match layer {
            Some(layer) => self.parts[layer].plan(&mut self.cursor, &mut self.walks),
            None => {
                self.walks.extend(self.serial_to_plan.take());
                !self.walks.is_empty()
            }
        };
        if !has_more {
            self.rewind();
            self.barriers.arrive();
        }
        Some(())
    }

    /// To the begin of a phase.
    fn rewind(&mut self) {
        self.cursor = Cursor::default();
        self.serial_to_plan = self.serial;
    }

    pub(super) fn has_next(&self) -> bool {
        self.barriers.has_next()
    }

    pub(super) fn resume(&mut self) {
        self.barriers.resume();
    }

    pub(super) fn begin_job(&mut self) {
        self.barriers.begin_job();
        self.rewind();
        self.walks.clear();
        self.walk = 0;
        self.step = 0;
    }
}

/// The phase before the first layer.
fn serial(task: &Task, model: &network::NeuralNetwork, thread: u16) -> Walk {
    let (lines, compute_ps) = match thread {
        0 => (
            model.serial_read_bytes() / u64::from(task.line_bytes),
            task.clock.cycles(model.serial_cycles),
        ),
        _ => (0, 0),
    };
    Walk {
        first: 0,
        lines,
        access: if lines > 0 {
            Access::Load
        } else {
            Access::None
        },
        compute_ps,
    }
}

/// Lays the network out in memory: what is read before the first layer, input, weights and output of each layer, blocks.
fn parts(task: &Task, model: &network::NeuralNetwork, thread: u16) -> Vec<MatrixProduct> {
    let mut end = model.serial_read_bytes();
    let mut take = |bytes: u64| {
        end += bytes;
        end - bytes
    };
    let input = model.layers.first().map(|layer| layer.input);
    let mut input = take(input.map_or(0, |shape| model.activation_bytes(shape)));
    let mut parts: Vec<MatrixProduct> = Vec::new();
    for layer in &model.layers {
        let points = layer.output().points();
        let outputs = u64::from(layer.outputs);
        let (points, outputs) = match points {
            1 => (0..1, task.share(outputs, thread)),
            _ => (task.share(points, thread), 0..outputs),
        };
        let part = MatrixProduct {
            layer: *layer,
            weights: take(model.weight_bytes(layer)),
            input,
            output: take(model.activation_bytes(layer.output())),
            block: 0,
            points,
            outputs,
            value_bytes: model.bytes_per_value.into(),
            line_bytes: task.line_bytes.into(),
            threads: task.threads.into(),
            products_ps: task.clock.cycles(model.cycles_per_mac_milli.into()),
        };
        input = part.output;
        parts.push(part);
    }
    let block = end + u64::from(thread) * network::NeuralNetwork::block_bytes(task.threads.into());
    for part in &mut parts {
        part.block = block;
    }
    parts
}
