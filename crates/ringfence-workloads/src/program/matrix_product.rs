//! The product of two square matrices: a network's layer that sees one point at a time.

use ringfence_scenario::network::{Layer, NeuralNetwork, SerialPhase, Shape};

use super::{Part, ProgramError, Setting, neural_network};

pub(super) fn prepare(rows: u32, setting: &Setting) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    if !(1..=16_384).contains(&rows) {
        return Err(ProgramError::Range {
            what: "a matrix",
            found: rows.into(),
            expected: "1 to 16384 rows",
        });
    }
    let layer = Layer {
        input: Shape {
            rows,
            columns: 1,
            channels: rows,
        },
        kernel: 1,
        stride: 1,
        outputs: rows,
    };
    let product = NeuralNetwork {
        layers: vec![layer],
        bytes_per_value: 4,
        cycles_per_mac_milli: 1000,
        serial: SerialPhase::default(),
    };
    neural_network::prepare(&product, setting)
}
