//! A network in memory, ready to compute.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use ringfence_workloads::clock;
use ringfence_workloads::program::neural_network::input_values;
use rten::{
    DataType, Dimension, Model, NodeId, RunOptions, ThreadPool, Value, ValueType, ValueView,
};
use rten_tensor::prelude::*;

/// A model with its input and the threads that compute it.
pub struct Network {
    model: Model,
    input: (NodeId, Vec<usize>),
    values: Vec<f32>,
    options: RunOptions,
}

/// Why a model cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// Not a model, or one with an operator that the library does not have.
    #[error("no model that can be computed: {0}; expected an ONNX file")]
    Load(String),
    /// Nothing to make an input for, or nothing to compute.
    #[error("{0}; expected a model with one input of single-precision numbers")]
    Input(String),
    /// Fewer threads would compute it.
    #[error("{0} threads cannot be started; expected a number that the system's limits allow")]
    Threads(u16),
    /// The library gives up.
    #[error("the model cannot be computed: {0}")]
    Run(String),
}

impl Network {
    /// Loads an ONNX model and gives it an input: random values from -1 to 1 for `seed`,
    /// and one of what it takes a variable number of. It is computed once, so that code and
    /// weights are there for the first job; other memory the library takes anew for each.
    ///
    /// `threads` compute it beside the thread that calls; at least 1.
    ///
    /// # Errors
    /// When it cannot be computed.
    pub fn load(model: Vec<u8>, threads: u16, seed: u64) -> Result<Self, NetworkError> {
        let model = read(model)?;
        let input = input(&model)?;
        let values = values(&input.1)?;
        let pool = ThreadPool::with_num_threads(threads.max(1).into());
        // Without threads of its own it would run on the one that calls, and say nothing.
        let caller = std::thread::current().id();
        if pool.run(move || std::thread::current().id() == caller) {
            return Err(NetworkError::Threads(threads));
        }
        let network = Self {
            values: input_values(seed)
                .take(values)
                .map(|value| value as f32)
                .collect(),
            input,
            model,
            options: RunOptions::default().with_thread_pool(Some(Arc::new(pool))),
        };
        network.run()?;
        Ok(network)
    }

    /// Gives it another input, as many values as it has.
    ///
    /// # Errors
    /// When these are others.
    pub fn set_input(&mut self, values: Vec<f32>) -> Result<(), NetworkError> {
        if values.len() != self.values.len() {
            let (found, expected) = (values.len(), self.values.len());
            return Err(NetworkError::Input(format!(
                "{found} values for an input of {expected}"
            )));
        }
        self.values = values;
        Ok(())
    }

    /// Computes all outputs.
    ///
    /// # Errors
    /// When the library cannot.
    pub fn run(&self) -> Result<(), NetworkError> {
        self.outputs().map(drop)
    }

    /// Computes all outputs and gives their values, one after the other in the order of the
    /// model.
    ///
    /// # Errors
    /// When the library cannot, or when one is not of single-precision numbers.
    pub fn compute(&self) -> Result<Vec<f32>, NetworkError> {
        let mut values = Vec::new();
        for output in self.outputs()? {
            let kind = output.dtype();
            let output = output.into_tensor::<f32>().ok_or_else(|| {
                let expected = "expected single-precision numbers";
                NetworkError::Run(format!("an output of {kind}; {expected}"))
            })?;
            values.extend(output.iter());
        }
        Ok(values)
    }

    fn outputs(&self) -> Result<Vec<Value>, NetworkError> {
        let error = |error: &dyn std::fmt::Display| NetworkError::Run(error.to_string());
        let (node, shape) = &self.input;
        let input = ValueView::from_shape(shape, &self.values).map_err(|e| error(&e))?;
        let (outputs, options) = (self.model.output_ids(), self.options.clone());
        let inputs = vec![(*node, input.into())];
        // The library panics at some sizes that it does not expect; nothing of it is used then.
        let run = AssertUnwindSafe(|| self.model.run(inputs, outputs, Some(options)));
        match catch_unwind(run) {
            Ok(outputs) => outputs.map_err(|e| error(&e)),
            Err(_) => Err(error(&"the library has panicked")),
        }
    }
}

/// Reads a model, or gives up: the library (0.27) never comes back from a number of more bytes
/// than a number can have. Then the thread that reads it is left behind.
fn read(model: Vec<u8>) -> Result<Model, NetworkError> {
    /// Of the processor, as others may have it first; far longer than it takes to read
    /// `BYTES_PER_S` on any machine that computes networks.
    const PATIENCE_NS: u64 = 5_000_000_000;
    const BYTES_PER_S: u64 = 10_000_000;
    const LOOK: Duration = Duration::from_millis(100);
    let patience_ns = PATIENCE_NS + model.len() as u64 * (1_000_000_000 / BYTES_PER_S);
    let error = |error: &dyn std::fmt::Display| NetworkError::Load(error.to_string());
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::Builder::new().name("rf-model".to_owned());
    let read = move || {
        // Nobody may listen any more.
        let _ = sender.send(Model::load(model).map_err(|error| error.to_string()));
    };
    reader.spawn(read).map_err(|e| error(&e))?;
    let end_ns = clock::process_time_ns().saturating_add(patience_ns);
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(model) => return model.map_err(NetworkError::Load),
            Err(RecvTimeoutError::Disconnected) => return Err(error(&"the library has panicked")),
            Err(RecvTimeoutError::Timeout) if clock::process_time_ns() > end_ns => {
                let seconds = patience_ns / 1_000_000_000;
                return Err(error(&format!("not read after {seconds} s of a processor")));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// How many values an input of this shape has.
fn values(shape: &[usize]) -> Result<usize, NetworkError> {
    /// One gigabyte of them.
    const MOST: usize = 1 << 28;
    let values = shape
        .iter()
        .try_fold(1_usize, |values, size| values.checked_mul(*size));
    values
        .filter(|values| (1..=MOST).contains(values))
        .ok_or_else(|| {
            NetworkError::Input(format!("an input of {shape:?}, not 1 to {MOST} values"))
        })
}

/// The only input and its shape.
fn input(model: &Model) -> Result<(NodeId, Vec<usize>), NetworkError> {
    let &[node] = model.input_ids() else {
        let inputs = model.input_ids().len();
        return Err(NetworkError::Input(format!("{inputs} inputs")));
    };
    if model.output_ids().is_empty() {
        return Err(NetworkError::Input("no output".to_owned()));
    }
    let info = model.node_info(node);
    match info.as_ref().and_then(|info| info.dtype()) {
        Some(ValueType::Tensor(DataType::Float)) | None => {}
        Some(other) => return Err(NetworkError::Input(format!("an input of {other}"))),
    }
    let shape = info.and_then(|info| info.shape());
    let shape = shape.ok_or_else(|| NetworkError::Input("an input without a shape".to_owned()))?;
    let sizes = shape.iter().map(|dimension| match dimension {
        Dimension::Fixed(size) => *size,
        Dimension::Symbolic(_) => 1,
    });
    Ok((node, sizes.collect()))
}
