//! Neural networks: each layer fits the shape that the layer before it leaves.

use super::Checker;
use super::program::Owner;
use crate::diagnostic::Span;
use crate::file::Located;
use crate::file::program as file;
use crate::network::{Layer, NeuralNetwork, SerialPhase, Shape};

/// Why a network cannot be.
pub(super) struct Misfit {
    span: Span,
    found: String,
    expected: String,
}

impl Checker<'_> {
    pub(super) fn neural_network(
        &mut self,
        network: &file::NeuralNetwork,
        span: Span,
        owner: Owner<'_>,
    ) -> Option<NeuralNetwork> {
        match resolve(network, span) {
            Ok(network) => {
                let parts = network.layers.iter().map(Layer::parts).max();
                self.refuse_idle_threads(owner, span, parts.unwrap_or(0).into());
                Some(network)
            }
            Err(misfit) => {
                self.problems
                    .report(misfit.span, misfit.found, misfit.expected);
                None
            }
        }
    }
}

/// The network with the shapes of all its layers.
pub(super) fn resolve(network: &file::NeuralNetwork, span: Span) -> Result<NeuralNetwork, Misfit> {
    if network.layer.is_empty() {
        return Err(Misfit {
            span,
            found: "a `neural_network` program without a layer".to_owned(),
            expected: "at least one".to_owned(),
        });
    }
    let mut shape = Shape {
        rows: network.input.value.rows.value.0 as u32,
        columns: network.input.value.columns.value.0 as u32,
        channels: network.input.value.channels.value.0 as u32,
    };
    let mut layers = Vec::new();
    for layer in &network.layer {
        let resolved = resolve_layer(shape, layer)?;
        shape = resolved.output();
        layers.push(resolved);
    }
    let or = |count: Option<u64>, default| count.unwrap_or(default);
    Ok(NeuralNetwork {
        layers,
        bytes_per_value: or(network.bytes_per_value.as_ref().map(|n| n.value.0), 4) as u8,
        cycles_per_mac_milli: network.cycles_per_mac_milli.value.0 as u32,
        serial: resolve_serial(network)?,
    })
}

fn resolve_serial(network: &file::NeuralNetwork) -> Result<SerialPhase, Misfit> {
    let framework = match &network.framework {
        Some(Located { value, .. }) if value.working_set.value.0 == 0 => {
            return Err(Misfit {
                span: value.working_set.span,
                found: "a `working_set` without a byte".to_owned(),
                expected: "at least 1 B".to_owned(),
            });
        }
        Some(Located { value, .. }) => (value.accesses.value.0, value.working_set.value.0),
        None => (0, 0),
    };
    Ok(SerialPhase {
        cycles: network.serial_cycles.as_ref().map_or(0, |n| n.value.0),
        read_bytes: network.serial_read.as_ref().map_or(0, |n| n.value.0),
        accesses: framework.0,
        working_set_bytes: framework.1,
    })
}

fn resolve_layer(input: Shape, layer: &Located<file::Layer>) -> Result<Layer, Misfit> {
    let Located { value: layer, span } = layer;
    let outputs = layer.outputs.value.0 as u32;
    let stride = layer
        .stride
        .as_ref()
        .map_or(1, |count| count.value.0 as u32);
    match (&layer.kernel, &layer.stride) {
        (None, Some(stride)) => Err(Misfit {
            span: stride.span,
            found: "a `stride` in a layer without `kernel`".to_owned(),
            expected:
                "`kernel` beside it, or no `stride`: without `kernel` the layer is fully connected"
                    .to_owned(),
        }),
        (None, None) => Ok(Layer {
            input: input.flat().ok_or_else(|| Misfit {
                span: *span,
                found: format!("a fully connected layer over {}", text(input)),
                expected: format!("at most {} values", u32::MAX),
            })?,
            kernel: 1,
            stride,
            outputs,
        }),
        (Some(kernel), _) => {
            let most = u64::from(input.rows.min(input.columns));
            if kernel.value.0 > most {
                return Err(Misfit {
                    span: kernel.span,
                    found: format!("a kernel of {0} × {0} points", kernel.value.0),
                    expected: format!("at most {most}: the layer reads {}", text(input)),
                });
            }
            Ok(Layer {
                input,
                kernel: kernel.value.0 as u32,
                stride,
                outputs,
            })
        }
    }
}

fn text(shape: Shape) -> String {
    format!(
        "{} × {} points of {} values",
        shape.rows, shape.columns, shape.channels
    )
}
