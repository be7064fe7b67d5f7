//! Neural networks: layers, and the matrix products that they come to.

use serde::{Deserialize, Serialize};

/// Longest cache line: what starts on a multiple of it starts a line on every platform.
const LINE_BYTES_MAX: u128 = 256;

/// A feed-forward network, computed layer by layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeuralNetwork {
    /// The layers in order; never empty.
    pub layers: Vec<Layer>,
    /// Bytes of one weight and of one activation; 1 to 8.
    pub bytes_per_value: u8,
    /// Cycles of one multiplication and addition, in thousandths.
    pub cycles_per_mac_milli: u32,
    /// What one thread does alone before the first layer.
    pub serial: SerialPhase,
}

/// Work of one thread alone: what prepares the input, and the framework.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SerialPhase {
    /// Cycles of computation.
    pub cycles: u64,
    /// Bytes that are read meanwhile, each once.
    pub read_bytes: u64,
    /// Lines of the framework that are accessed after that; nothing goes on before
    /// each has come.
    pub accesses: u64,
    /// Bytes of the framework; at least one when there are accesses.
    pub working_set_bytes: u64,
}

impl SerialPhase {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.cycles == 0 && self.read_bytes == 0 && self.accesses == 0
    }

    /// Bytes of memory that it uses, whole cache lines.
    pub fn memory_bytes(&self) -> u64 {
        let working_set = whole_lines(self.working_set_bytes.into());
        self.read_end().saturating_add(working_set)
    }

    /// Bytes that are read once, whole cache lines: the working set comes after them.
    pub fn read_end(&self) -> u64 {
        whole_lines(self.read_bytes.into())
    }
}

/// Rows and columns of points with `channels` values each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Rows of points; at least 1.
    pub rows: u32,
    /// Points in a row; at least 1.
    pub columns: u32,
    /// Values of a point; at least 1.
    pub channels: u32,
}

impl Shape {
    /// One point with all values of `self`, as a fully connected layer sees them.
    /// `None` when they are too many.
    pub fn flat(self) -> Option<Self> {
        Some(Self {
            rows: 1,
            columns: 1,
            channels: u32::try_from(self.points() * u64::from(self.channels)).ok()?,
        })
    }

    /// Rows times columns.
    pub fn points(self) -> u64 {
        u64::from(self.rows) * u64::from(self.columns)
    }

    fn values(self) -> u128 {
        u128::from(self.points()) * u128::from(self.channels)
    }
}

/// A convolution without padding; a fully connected layer is one over one point.
///
/// Each output value is the sum of [`Self::depth`] products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// What it reads.
    pub input: Shape,
    /// Rows and columns of its kernel; at least 1, at most those of the input.
    pub kernel: u32,
    /// Points from one position of the kernel to the next; at least 1.
    pub stride: u32,
    /// Values of each point of its output; at least 1.
    pub outputs: u32,
}

impl Layer {
    /// What it writes.
    pub fn output(&self) -> Shape {
        let positions = |points: u32| (points - self.kernel) / self.stride + 1;
        Shape {
            rows: positions(self.input.rows),
            columns: positions(self.input.columns),
            channels: self.outputs,
        }
    }

    /// Into how many parts threads can split it: its points, or the outputs of its only one.
    pub fn parts(&self) -> u64 {
        match self.output().points() {
            1 => self.outputs.into(),
            points => points,
        }
    }

    /// Products that are summed up to one output value.
    pub fn depth(&self) -> u64 {
        u64::from(self.kernel) * u64::from(self.kernel) * u64::from(self.input.channels)
    }

    fn weights(&self) -> u128 {
        u128::from(self.depth()) * u128::from(self.outputs)
    }
}

impl NeuralNetwork {
    /// Most bytes of the block of input patches that a thread gathers at a time, as
    /// Eigen's evaluateProductBlockingSizesHeuristic chooses for caches of its default
    /// sizes (Eigen/src/Core/products/GeneralBlockPanelKernel.h): a thread alone takes
    /// half of 1.5 MiB, one of several the difference of the caches over four patches.
    pub fn block_bytes(threads: u64) -> u64 {
        const L1_BYTES: u64 = 32 << 10;
        const L2_BYTES: u64 = 512 << 10;
        match threads {
            1 => 768 << 10,
            _ => (L2_BYTES - L1_BYTES) / 4,
        }
    }

    /// Phases of one job: a barrier lies between two.
    pub fn phases(&self) -> usize {
        self.layers.len() + usize::from(!self.serial.is_empty())
    }

    /// Bytes of all weights of a layer, whole cache lines.
    pub fn weight_bytes(&self, layer: &Layer) -> u64 {
        self.bytes(layer.weights())
    }

    /// Bytes of all values of `shape`, whole cache lines.
    pub fn activation_bytes(&self, shape: Shape) -> u64 {
        self.bytes(shape.values())
    }

    /// Bytes that are written: activations, and the blocks of the threads.
    pub fn written_bytes(&self, threads: u64) -> u64 {
        let outputs = self.layers.iter().map(Layer::output);
        outputs.map(|shape| self.activation_bytes(shape)).fold(
            threads.saturating_mul(Self::block_bytes(threads)),
            u64::saturating_add,
        )
    }

    /// Bytes of memory that it uses; `u64::MAX` when they are more than that.
    pub fn memory_bytes(&self, threads: u64) -> u64 {
        let input = self.layers.first().map(|layer| layer.input);
        let input = input.map_or(0, |shape| self.activation_bytes(shape));
        let layers = self.layers.iter();
        layers
            .map(|layer| self.weight_bytes(layer))
            .chain([self.serial.memory_bytes(), self.written_bytes(threads)])
            .fold(input, u64::saturating_add)
    }

    fn bytes(&self, values: u128) -> u64 {
        whole_lines(values.saturating_mul(self.bytes_per_value.into()))
    }
}

fn whole_lines(bytes: u128) -> u64 {
    u64::try_from(bytes.next_multiple_of(LINE_BYTES_MAX)).unwrap_or(u64::MAX)
}
