//! The library against our own layers: two implementations that share no code.

use proptest::prelude::*;
use ringfence_inference::network::Network;
use ringfence_inference::onnx;
use ringfence_scenario::network::{Layer, NeuralNetwork, SerialPhase, Shape};
use ringfence_workloads::program::Setting;
use ringfence_workloads::program::neural_network::{input_values, outputs};

fn layer(input: Shape, kernel: u32, stride: u32, outputs: u32) -> Layer {
    Layer {
        input,
        kernel,
        stride,
        outputs,
    }
}

fn network(layers: Vec<Layer>) -> NeuralNetwork {
    NeuralNetwork {
        layers,
        bytes_per_value: 4,
        cycles_per_mac_milli: 1000,
        serial: SerialPhase::default(),
    }
}

/// What both compute, ours first; the library's outputs in our order.
fn both(model: &NeuralNetwork, threads: u16) -> (Vec<f32>, Vec<f32>) {
    const SEED: u64 = 7;
    let setting = Setting {
        threads,
        line_bytes: 64,
        bank_functions: Vec::new(),
        seed: SEED,
    };
    let ours = outputs(model, &setting).unwrap();
    let bytes = onnx::model(model, SEED).unwrap();
    let mut network = Network::load(bytes, threads, SEED).unwrap();
    let input = model.layers[0].input;
    let count = (input.points() * u64::from(input.channels)) as usize;
    let values: Vec<f32> = input_values(SEED)
        .take(count)
        .map(|value| value as f32)
        .collect();
    network.set_input(onnx::input(model, &values)).unwrap();
    let theirs = network.compute().unwrap();
    let last = model.layers.last().unwrap().output();
    let (points, channels) = (last.points() as usize, last.channels as usize);
    let places = (0..points).flat_map(|point| (0..channels).map(move |at| at * points + point));
    (ours, places.map(|place| theirs[place]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Convolutions that end in a plane, in a point or in dense layers, and dense layers alone.
    #[test]
    fn the_library_computes_what_our_layers_do(
        rows in 3_u32..14,
        columns in 3_u32..14,
        channels in 1_u32..9,
        widths in [1_u32..20, 1_u32..20, 1_u32..20],
        kernel in 1_u32..4,
        stride in 1_u32..3,
        dense in 0_usize..3,
        whole: bool,
        only_dense: bool,
        threads in 1_u16..4,
    ) {
        let input = Shape { rows, columns, channels };
        let mut layers = Vec::new();
        let mut shape = match only_dense {
            true => input.flat().unwrap(),
            false => {
                layers.push(layer(input, kernel, stride, widths[0]));
                layers[0].output()
            }
        };
        if whole && shape.rows == shape.columns && !only_dense {
            layers.push(layer(shape, shape.rows, 1, widths[1]));
            shape = layers[1].output();
        }
        for width in widths.iter().take(if only_dense { dense + 1 } else { dense }) {
            let input = shape.flat().unwrap();
            layers.push(layer(input, 1, 1, *width));
            shape = layers[layers.len() - 1].output();
        }
        let model = network(layers);
        let (ours, theirs) = both(&model, threads);
        prop_assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            prop_assert!((ours - theirs).abs() < 1e-4, "{} {}", ours, theirs);
        }
    }
}

/// The steering network of the demo, as it is in the scenario.
#[test]
fn dave_2_gives_the_same_angle() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/demo.toml");
    let scenario = ringfence_scenario::load(path.as_ref()).unwrap();
    let ringfence_scenario::model::Program::NeuralNetwork(model) =
        &scenario.gangs[0].tasks[0].program
    else {
        panic!("no network");
    };
    let (ours, theirs) = both(
        &NeuralNetwork {
            serial: SerialPhase::default(),
            ..model.clone()
        },
        2,
    );
    assert_eq!(ours.len(), 1);
    assert_ne!(ours[0], 0.0);
    assert!((ours[0] - theirs[0]).abs() < 1e-4, "{ours:?} {theirs:?}");
}

#[test]
fn other_numbers_are_refused() {
    let shape = Shape {
        rows: 1,
        columns: 1,
        channels: 2,
    };
    let model = NeuralNetwork {
        bytes_per_value: 8,
        ..network(vec![layer(shape, 1, 1, 2)])
    };
    let error = onnx::model(&model, 1).unwrap_err();
    assert!(error.to_string().contains("bytes_per_value = 4"), "{error}");
}

/// The model of one convolution, as bytes.
fn convolution() -> Vec<u8> {
    let shape = Shape {
        rows: 4,
        columns: 4,
        channels: 2,
    };
    onnx::model(&network(vec![layer(shape, 3, 1, 2)]), 1).unwrap()
}

/// What a file says of its input is not believed.
#[test]
fn inputs_of_any_size_are_refused() {
    let bytes = convolution();
    for rows in [0, 1 << 28, i64::MAX] {
        let mut model = rten_onnx::onnx::ModelProto::parse_buf(&bytes).unwrap();
        let input = &mut model.graph.as_mut().unwrap().input[0];
        let tensor = input.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap();
        tensor.shape.as_mut().unwrap().dim[2].dim_value = Some(rows);
        let error = Network::load(model.write_buf().unwrap(), 1, 1)
            .err()
            .unwrap();
        assert!(error.to_string().contains("an input of"), "{error}");
    }
}

/// The library panics where the sizes of a plane overflow: that is an error like others.
#[test]
fn panics_of_the_library_are_errors() {
    let bytes = convolution();
    let mut model = rten_onnx::onnx::ModelProto::parse_buf(&bytes).unwrap();
    let node = &mut model.graph.as_mut().unwrap().node[0];
    node.attribute.push(rten_onnx::onnx::AttributeProto {
        name: Some("pads".to_owned()),
        ints: vec![1 << 30; 4],
        r#type: Some(rten_onnx::onnx::AttributeType::INTS),
        ..Default::default()
    });
    let error = Network::load(model.write_buf().unwrap(), 1, 1)
        .err()
        .unwrap();
    assert!(error.to_string().contains("panicked"), "{error}");
}

#[test]
fn models_that_onnx_cannot_hold_are_refused() {
    let shape = Shape {
        rows: 1,
        columns: 1,
        channels: 1 << 20,
    };
    let error = onnx::model(&network(vec![layer(shape, 1, 1, 1 << 10)]), 1).unwrap_err();
    assert!(
        error.to_string().starts_with("4294967296 B of weights"),
        "{error}"
    );
}

#[test]
fn what_is_no_model_is_refused() {
    for bytes in [&b""[..], b"\x08\x07", b"no model at all", &[0xff; 64]] {
        assert!(Network::load(bytes.to_vec(), 1, 1).is_err(), "{bytes:?}");
    }
    let bytes = convolution();
    for end in [bytes.len() / 4, bytes.len() / 2, bytes.len() - 1] {
        assert!(Network::load(bytes[..end].to_vec(), 1, 1).is_err(), "{end}");
    }
}
