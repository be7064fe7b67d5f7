//! The network of a scenario as an ONNX model.
//!
//! ONNX keeps the values of a channel together, a scenario's network those of a point;
//! weights take their places accordingly, and the outputs are the same. The serial phase is
//! what surrounds a network in a framework: it has no place in a model.

use std::cell::RefCell;

use ringfence_scenario::network::{Layer, NeuralNetwork, Shape};
use ringfence_workloads::program::neural_network::weight;
use rten_onnx::onnx;

/// The version of the operators, and of the format that came with it.
const OPERATORS: i64 = 13;
const FORMAT: i64 = 7;
/// A file of the format is one message, of less than 2 GiB; some is for the graph.
const MOST_BYTES: u128 = (2 << 30) - (1 << 20);
/// What the model calls its input and output.
const INPUT: &str = "input";
const OUTPUT: &str = "output";

/// Why there is no model of a network.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// Other numbers.
    #[error("values of {0} B cannot be computed by the library; expected bytes_per_value = 4")]
    ValueBytes(u8),
    /// It does not fit the format.
    #[error("{found} B of weights; expected at most {MOST_BYTES}, which is what ONNX can hold")]
    Size {
        /// Bytes of all weights.
        found: u128,
    },
    /// The library refuses.
    #[error("the model cannot be written: {0}")]
    Encode(String),
}

/// The model with the weights that seed `seed` gives.
///
/// # Errors
/// When the format has no place for it.
pub fn model(network: &NeuralNetwork, seed: u64) -> Result<Vec<u8>, OnnxError> {
    if network.bytes_per_value != 4 {
        return Err(OnnxError::ValueBytes(network.bytes_per_value));
    }
    let values = network
        .layers
        .iter()
        .map(|layer| u128::from(layer.depth()) * u128::from(layer.outputs));
    let found = values.sum::<u128>() * size_of::<f32>() as u128;
    if found > MOST_BYTES {
        return Err(OnnxError::Size { found });
    }
    let model = onnx::ModelProto {
        ir_version: Some(FORMAT),
        producer_name: Some("ringfence".to_owned()),
        graph: Some(graph(network, seed)),
        opset_import: vec![onnx::OperatorSetIdProto {
            domain: Some(String::new()),
            version: Some(OPERATORS),
        }],
        ..Default::default()
    };
    model
        .write_buf()
        .map_err(|error| OnnxError::Encode(error.to_string()))
}

/// An input of the network in the order of the model's.
pub fn input(network: &NeuralNetwork, values: &[f32]) -> Vec<f32> {
    let Some(first) = network.layers.first() else {
        return Vec::new();
    };
    let points = first.input.points() as usize;
    let channels = first.input.channels as usize;
    let places = (0..channels).flat_map(|channel| (0..points).map(move |point| (point, channel)));
    places
        .map(|(point, channel)| values[point * channels + channel])
        .collect()
}

/// A graph while it is written.
#[derive(Default)]
struct Graph {
    nodes: Vec<onnx::NodeProto>,
    weights: Vec<onnx::TensorProto>,
    /// What the last node puts out.
    last: String,
}

fn graph(network: &NeuralNetwork, seed: u64) -> onnx::GraphProto {
    let mut graph = Graph {
        last: INPUT.to_owned(),
        ..Default::default()
    };
    let mut before: Option<Shape> = None;
    for (number, layer) in network.layers.iter().enumerate() {
        let is_dense = layer.input.points() == 1;
        // What is one point now was a plane of points.
        let plane = before.filter(|shape| is_dense && shape.points() > 1);
        let is_first_dense =
            is_dense && network.layers[..number].last().is_some_and(is_convolution);
        if is_first_dense {
            graph.node(format!("flat_{number}"), "Flatten", &[], vec![]);
        }
        let weights = match is_dense {
            true => dense_weights(layer, plane, seed, number),
            false => kernels(layer, seed, number),
        };
        let name = format!("weights_{number}");
        graph.weights.push(tensor(&name, weights));
        let (operator, attributes) = match is_dense {
            true => ("Gemm", vec![attribute("transB", None, Some(1))]),
            false => {
                let both = |value: u32| vec![i64::from(value); 2];
                let kernel = attribute("kernel_shape", Some(both(layer.kernel)), None);
                let strides = attribute("strides", Some(both(layer.stride)), None);
                ("Conv", vec![kernel, strides])
            }
        };
        graph.node(format!("layer_{number}"), operator, &[name], attributes);
        if number + 1 < network.layers.len() {
            graph.node(format!("rectified_{number}"), "Relu", &[], vec![]);
        }
        before = Some(layer.output());
    }
    if let Some(node) = graph.nodes.last_mut() {
        node.output = vec![OUTPUT.to_owned()];
    }
    let input = network.layers.first().map(|layer| layer.input);
    let output = network
        .layers
        .last()
        .map(|layer| match is_convolution(layer) {
            true => dimensions(layer.output()),
            false => vec![1, layer.outputs.into()],
        });
    onnx::GraphProto {
        node: graph.nodes,
        initializer: graph.weights,
        input: vec![value(INPUT, input.map(shape_of_input))],
        output: vec![value(OUTPUT, output)],
        ..Default::default()
    }
}

impl Graph {
    /// Adds a node to the end of the chain.
    fn node(
        &mut self,
        name: String,
        operator: &str,
        weights: &[String],
        attribute: Vec<onnx::AttributeProto>,
    ) {
        let input = std::iter::once(&self.last).chain(weights).cloned();
        self.nodes.push(onnx::NodeProto {
            name: Some(name.clone()),
            input: input.collect(),
            output: vec![name.clone()],
            op_type: Some(operator.to_owned()),
            attribute,
            ..Default::default()
        });
        self.last = name;
    }
}

fn is_convolution(layer: &Layer) -> bool {
    layer.input.points() > 1
}

fn shape_of_input(shape: Shape) -> Vec<i64> {
    match shape.points() {
        1 => vec![1, shape.channels.into()],
        _ => dimensions(shape),
    }
}

/// One image, its channels, rows and columns.
fn dimensions(shape: Shape) -> Vec<i64> {
    vec![
        1,
        shape.channels.into(),
        shape.rows.into(),
        shape.columns.into(),
    ]
}

/// A tensor with its dimensions.
type Weights = (Vec<i64>, Vec<f32>);

/// By output, channel, row and column.
fn kernels(layer: &Layer, seed: u64, number: usize) -> Weights {
    let (kernel, channels) = (layer.kernel as usize, layer.input.channels as usize);
    let mut values = Vec::with_capacity(layer.depth() as usize * layer.outputs as usize);
    for output in 0..layer.outputs as usize {
        for channel in 0..channels {
            for place in 0..kernel * kernel {
                let product = place * channels + channel;
                values.push(weight(layer, seed, number, product, output) as f32);
            }
        }
    }
    let [outputs, channels, kernel] =
        [layer.outputs, layer.input.channels, layer.kernel].map(i64::from);
    (vec![outputs, channels, kernel, kernel], values)
}

/// By output and input; inputs are those of `plane` if there is one, by channel and point.
fn dense_weights(layer: &Layer, plane: Option<Shape>, seed: u64, number: usize) -> Weights {
    let inputs = layer.depth() as usize;
    let points = plane.map_or(1, |plane| plane.points() as usize);
    let channels = inputs / points;
    let mut values = Vec::with_capacity(inputs * layer.outputs as usize);
    for output in 0..layer.outputs as usize {
        for input in 0..inputs {
            let (channel, point) = (input / points, input % points);
            let product = point * channels + channel;
            values.push(weight(layer, seed, number, product, output) as f32);
        }
    }
    (vec![layer.outputs.into(), inputs as i64], values)
}

fn tensor(name: &str, (dims, values): Weights) -> onnx::TensorProto {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    onnx::TensorProto {
        dims,
        data_type: Some(onnx::DataType::FLOAT),
        raw_data: Some(RefCell::new(bytes.collect())),
        name: Some(name.to_owned()),
        ..Default::default()
    }
}

/// An attribute of several numbers, or of one.
fn attribute(name: &str, ints: Option<Vec<i64>>, i: Option<i64>) -> onnx::AttributeProto {
    let kind = match ints {
        Some(_) => onnx::AttributeType::INTS,
        None => onnx::AttributeType::INT,
    };
    onnx::AttributeProto {
        name: Some(name.to_owned()),
        i,
        ints: ints.unwrap_or_default(),
        r#type: Some(kind),
        ..Default::default()
    }
}

fn value(name: &str, shape: Option<Vec<i64>>) -> onnx::ValueInfoProto {
    let dimension = |size| onnx::Dimension {
        dim_value: Some(size),
        dim_param: None,
    };
    let shape = shape.map(|sizes| onnx::TensorShapeProto {
        dim: sizes.into_iter().map(dimension).collect(),
    });
    onnx::ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(onnx::TypeProto {
            tensor_type: Some(onnx::TypeProtoTensor {
                elem_type: Some(onnx::DataType::FLOAT),
                shape,
            }),
            ..Default::default()
        }),
    }
}
