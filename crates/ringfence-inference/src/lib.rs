//! Neural networks that an inference library computes, as products do.
//!
//! [`onnx`] writes the network of a scenario as an ONNX model, with the weights that
//! `ringfence-workloads` computes with; [`network`] runs that model, or any other one. The
//! program `inference` does so job by job, under the job API.
//!
//! It stands apart from `ringfence-workloads`, which the command and all that boots in a
//! guest are linked with: what loads and optimises models is many times the size of both.

pub mod network;
pub mod onnx;
