//! Programs: what threads execute.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::de::DeValue;

use super::macros::{file_table, file_word};
use super::value::{Count, Factor, Size, Text, Time};
use super::{Decode, List, Located, describe, quoted_list, text_at};
use crate::diagnostic::{Problems, Span};
use crate::model;
use crate::suggest::nearest;

file_word! {
    /// Reading or writing.
    pub enum Access -> model::Access {
        /// Loads.
        Read = "read" => model::Access::Read,
        /// Stores: each line is fetched, changed and written back in the end.
        Write = "write" => model::Access::Write,
    }
}

file_word! {
    /// Order in which a region is walked.
    pub enum Pattern -> model::Pattern {
        /// Line after line.
        Sequential = "sequential" => model::Pattern::Sequential,
        /// Uniform over the region, drawn from the scenario's seed.
        Random = "random" => model::Pattern::Random,
    }
}

file_table! {
    /// A fixed execution time, for schedules without a memory model. Each thread takes this time.
    ///
    /// `program = { kind = "compute", time = "3.5 ms", slowed_by = { planner = 1.5 } }`
    pub struct Compute {
        /// Execution time of one job when it runs alone. Required for tasks;
        /// best-effort work never ends and has none.
        pub time: Option<Located<Time>>,
        /// How many times longer the work takes while a task runs anywhere:
        /// `{ TASK = FACTOR }`, each factor from 1.0 to 1000.0 with at most
        /// three decimals. Several factors multiply. Default: none.
        pub slowed_by: Option<Located<Slowdowns>>,
    }
}

file_table! {
    /// Bw: walks an array in address order, one access per cache line. The
    /// array is split over the threads: each walks a part of its own.
    ///
    /// `program = { kind = "bandwidth", access = "write", working_set = "16 MiB" }`
    pub struct Bandwidth {
        /// `"read"` or `"write"`.
        pub access: Located<Access>,
        /// Bytes walked by all threads together, split evenly over them. At
        /// least one cache line a thread.
        pub working_set: Located<Size>,
        /// Walks over the working set in one job. Default: 1. Best-effort work never ends and ignores it.
        pub passes: Option<Located<Count<1, 4_294_967_295>>>,
    }
}

file_table! {
    /// PLL: walks shuffled linked lists in parallel; each list is one chain of
    /// dependent accesses. Each thread has lists and a working set of its own.
    ///
    /// `program = { kind = "linked_lists", access = "read", working_set = "4 MiB", lists = 6 }`
    pub struct LinkedLists {
        /// `"read"` or `"write"`.
        pub access: Located<Access>,
        /// Bytes that the lists of one thread cover together; with `threads = 4`
        /// the program uses four times as many. At least one cache line a list.
        pub working_set: Located<Size>,
        /// Lists walked in parallel, which is the memory-level parallelism. Default: 1.
        pub lists: Option<Located<Count<1, 64>>>,
        /// BkPLL: only those lines of the working set that lie in this bank of the
        /// last-level cache, which is told by their physical addresses
        /// (`bank_functions` of the platform). Default: all lines.
        pub bank: Option<Located<Count<0, 63>>>,
        /// Walks over the working set in one job. Default: 1. Best-effort work never ends and ignores it.
        pub passes: Option<Located<Count<1, 4_294_967_295>>>,
    }
}

file_table! {
    /// Work that stays in the core and its first-level cache. Each thread has a
    /// working set of its own.
    ///
    /// `program = { kind = "cpu", working_set = "8 KiB", cycles_per_access = 4 }`
    pub struct Cpu {
        /// Bytes that each thread touches over and over; at least one cache line
        /// and at most the first-level cache.
        pub working_set: Located<Size>,
        /// Cycles of computation between two accesses.
        pub cycles_per_access: Located<Count<0, 4_294_967_295>>,
        /// Accesses of each thread in one job. Required for tasks; best-effort work never ends and has none.
        pub accesses: Option<Located<Count<1, 1_000_000_000_000>>>,
    }
}

file_table! {
    /// Arrays that are walked in lockstep, as a loop over `a[i] = f(b[i], c[i], …)`
    /// does: each step reads one cache line of every array that is read, computes,
    /// and writes one line of every array that is written. Each thread walks a
    /// part of its own of every array.
    ///
    /// `program = { kind = "streams", reads = 2, writes = 1, array = "8 MiB" }`
    pub struct Streams {
        /// Arrays that are read.
        pub reads: Located<Count<0, 64>>,
        /// Arrays that are written.
        pub writes: Located<Count<0, 64>>,
        /// Bytes of each array, of which there are `reads + writes`, rounded down to
        /// whole cache lines; all threads split them. At least one line a thread.
        pub array: Located<Size>,
        /// Cycles of computation in each step, after its reads. Default: 0.
        pub compute_cycles: Option<Located<Count<0, 4_294_967_295>>>,
        /// Distance of two steps, as in a walk down the columns of a matrix whose
        /// rows have so many bytes; at its end the walk goes on one line further.
        /// Whole cache lines, at most the array. Default: one cache line.
        pub stride: Option<Located<Size>>,
        /// Walks over the arrays in one job. Default: 1. Best-effort work never ends and ignores it.
        pub passes: Option<Located<Count<1, 4_294_967_295>>>,
    }
}

file_table! {
    /// Two walkers over one buffer that all threads share, byte by byte: each step
    /// changes the byte under the first walker and reads the one under the second.
    /// Then each moves on by its stride, round the buffer's end. Every other sweep
    /// reads under both and changes nothing. A thread starts at a random place,
    /// with its walkers half the buffer apart.
    ///
    /// `program = { kind = "strided", working_set = "512 KiB", change_stride = "131073 B", read_stride = "33 B" }`
    pub struct Strided {
        /// Bytes of the buffer, rounded down to whole cache lines; at least one. A
        /// sweep has a step for each byte.
        pub working_set: Located<Size>,
        /// Bytes from one step of the first walker to the next, from 1 B to the
        /// working set. It comes by every byte in a sweep if the two have no
        /// common divisor.
        pub change_stride: Located<Size>,
        /// Bytes from one step of the second walker to the next, from 1 B to the working set.
        pub read_stride: Located<Size>,
        /// Cycles of computation in each step. Default: 0.
        pub compute_cycles: Option<Located<Count<0, 4_294_967_295>>>,
        /// Sweeps in one job. Default: 1. Best-effort work never ends and ignores it.
        pub passes: Option<Located<Count<1, 4_294_967_295>>>,
    }
}

file_table! {
    /// Phases of computation and memory accesses; all threads wait for each
    /// other after each. Work and working set are split over the threads.
    ///
    /// `program = { kind = "phases", phase = [{ compute_cycles = 100_000, read = "1 MiB", working_set = "384 KiB" }] }`
    pub struct Phases {
        /// The phases in order; at least one.
        pub phase: List<Phase>,
    }
}

file_table! {
    /// One phase of a `phases` program.
    pub struct Phase {
        /// Computation in cycles of the core, split over the threads and spread
        /// evenly over the accesses. Default: 0.
        pub compute_cycles: Option<Located<Count<0, 1_000_000_000_000>>>,
        /// Bytes read, split over the threads. Default: none.
        pub read: Option<Located<Size>>,
        /// Bytes written, split over the threads. Default: none.
        pub write: Option<Located<Size>>,
        /// Bytes of the one region that all threads share. With the pattern
        /// `"sequential"` each thread walks a part of its own, with `"random"`
        /// each draws from all of it. Required in a phase that reads or writes;
        /// at least one cache line.
        pub working_set: Option<Located<Size>>,
        /// `"sequential"` or `"random"`. Default: `"sequential"`.
        pub pattern: Option<Located<Pattern>>,
    }
}

file_table! {
    /// A feed-forward neural network. All threads compute one layer and wait for
    /// each other before the next. They share the points of its output or, where it
    /// has one point, the values of that. The products are
    /// formed block by block, as libraries do: patches of the input are gathered
    /// into blocks, which are multiplied with panels of the weights.
    ///
    /// `program = { kind = "neural_network", input = { rows = 66, columns = 200, channels = 3 }, cycles_per_mac_milli = 1000, layer = [{ kernel = 5, stride = 2, outputs = 24 }, { outputs = 10 }] }`
    pub struct NeuralNetwork {
        /// The shape of what the first layer reads.
        pub input: Located<InputShape>,
        /// The layers in order; at least one.
        pub layer: List<Layer>,
        /// Cycles of one multiplication and addition when the values are in the
        /// first-level cache, in thousandths.
        pub cycles_per_mac_milli: Located<Count<1, 100_000>>,
        /// Cycles that the first thread computes alone, before the first layer:
        /// preparing the input, the framework's own work. Default: 0.
        pub serial_cycles: Option<Located<Count<0, 1_000_000_000_000>>>,
        /// Bytes that it reads meanwhile, each once, such as a camera's frame.
        /// Default: none.
        pub serial_read: Option<Located<Size>>,
        /// What the framework that runs the network accesses after that, still
        /// before the first layer. Default: nothing.
        pub framework: Option<Located<Framework>>,
        /// Bytes of a weight or an activation. Default: 4.
        pub bytes_per_value: Option<Located<Count<1, 8>>>,
    }
}

file_table! {
    /// Instructions and objects of a framework, as lines in random order: the core
    /// goes on with nothing before it has each. `serial_cycles` are spread over
    /// them.
    pub struct Framework {
        /// Accesses of a job, whether or not the first-level cache has the line.
        pub accesses: Located<Count<1, 1_000_000_000>>,
        /// Bytes of the lines that they are drawn from.
        pub working_set: Located<Size>,
    }
}

file_table! {
    /// Shape of an input, such as an image.
    pub struct InputShape {
        /// Rows of points.
        pub rows: Located<Count<1, 65_536>>,
        /// Points in a row.
        pub columns: Located<Count<1, 65_536>>,
        /// Values of a point.
        pub channels: Located<Count<1, 65_536>>,
    }
}

file_table! {
    /// One layer: a convolution without padding, or, without `kernel`, a fully
    /// connected layer.
    pub struct Layer {
        /// Values of each point of the output.
        pub outputs: Located<Count<1, 65_536>>,
        /// Rows and columns of the kernel. Default: the layer is fully connected.
        pub kernel: Option<Located<Count<1, 64>>>,
        /// Points from one position of the kernel to the next. Default: 1.
        pub stride: Option<Located<Count<1, 64>>>,
    }
}

file_table! {
    /// A memory trace recorded by `ringfence trace record`. Each thread replays
    /// the whole trace in memory of its own.
    ///
    /// `program = { kind = "trace", file = "susan.rftrace", job = 0 }`
    pub struct Trace {
        /// The trace file, relative to the folder of the scenario file.
        pub file: Located<Text>,
        /// The recorded job to replay, counted from 0. Default: all in turn.
        pub job: Option<Located<Count<0, 4_294_967_295>>>,
    }
}

/// Factors by task, in the order of the file.
#[derive(Debug, Clone)]
pub struct Slowdowns(pub Vec<(Located<String>, Factor)>);

impl Decode for Slowdowns {
    fn expected() -> String {
        "a table of factors by task such as { planner = 1.5 }".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let DeValue::Table(table) = value else {
            problems.report(span, describe(value), Self::expected());
            return None;
        };
        let mut factors: Vec<(Located<String>, Factor)> = table
            .iter()
            .filter_map(|(key, value)| {
                let factor = Factor::decode(value.get_ref(), value.span().into(), problems)?;
                let task = Located {
                    value: key.get_ref().to_string(),
                    span: key.span().into(),
                };
                Some((task, factor))
            })
            .collect();
        factors.sort_by_key(|(task, _)| task.span);
        Some(Self(factors))
    }
}

impl JsonSchema for Slowdowns {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Slowdowns".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = <BTreeMap<String, Factor>>::json_schema(generator);
        schema.insert("title".to_owned(), "a table of factors by task".into());
        schema
    }
}

/// Declares the kinds of program: the word in the file and the table that goes with it.
macro_rules! program_kinds {
    ($( $(#[$meta:meta])* $variant:ident = $word:literal, )*) => {
        /// What a thread executes. `kind` says which program; the other keys are its parameters.
        #[derive(Debug, Clone)]
        pub enum Program {
            $( $(#[$meta])* $variant($variant), )*
        }

        impl Program {
            /// The words for `kind`.
            pub(crate) const KINDS: &'static [&'static str] = &[$( $word ),*];

            fn decode_kind(
                kind: &str,
                table: &toml::de::DeTable<'_>,
                span: Span,
                problems: &mut Problems,
            ) -> Option<Self> {
                match kind {
                    $( $word => $variant::decode_table(table, span, &["kind"], problems)
                        .map(Self::$variant), )*
                    _ => None,
                }
            }
        }

        impl JsonSchema for Program {
            fn schema_name() -> Cow<'static, str> {
                "Program".into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "title": "a program",
                    "description": "What a thread executes. `kind` says which program; the other keys are its parameters.",
                    "oneOf": [$( with_kind($variant::json_schema(generator), $word) ),*],
                })
            }
        }
    };
}

program_kinds! {
    /// A fixed execution time.
    Compute = "compute",
    /// Bw.
    Bandwidth = "bandwidth",
    /// PLL.
    LinkedLists = "linked_lists",
    /// Work in the core.
    Cpu = "cpu",
    /// Arrays in lockstep.
    Streams = "streams",
    /// Two walkers over one buffer.
    Strided = "strided",
    /// Compute-and-memory phases.
    Phases = "phases",
    /// A neural network.
    NeuralNetwork = "neural_network",
    /// A recorded trace.
    Trace = "trace",
}

/// The schema of a table that also has the key `kind` with one value.
fn with_kind(mut schema: Schema, kind: &str) -> serde_json::Value {
    let object = schema.ensure_object();
    if let Some(properties) = object.get_mut("properties").and_then(|p| p.as_object_mut()) {
        properties.insert("kind".into(), serde_json::json!({"const": kind}));
    }
    let required = object
        .entry("required")
        .or_insert_with(|| serde_json::json!([]));
    if let Some(required) = required.as_array_mut() {
        required.insert(0, "kind".into());
    }
    schema.to_value()
}

impl Decode for Program {
    fn expected() -> String {
        "a table such as { kind = \"bandwidth\", … }".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let DeValue::Table(table) = value else {
            problems.report(span, describe(value), Self::expected());
            return None;
        };
        let expected = format!("`kind`: {}", quoted_list(Self::KINDS));
        let Some((kind, kind_span)) = text_at(table, "kind") else {
            problems.report(span, "a program without a `kind`", expected);
            return None;
        };
        if Self::KINDS.contains(&kind) {
            return Self::decode_kind(kind, table, span, problems);
        }
        let found = format!("the unknown program {:?}", super::shortened(kind));
        match nearest(kind, Self::KINDS.iter().copied()) {
            Some(near) => problems.report_with_help(
                kind_span,
                found,
                expected,
                format!("did you mean {near:?}?"),
            ),
            None => problems.report(kind_span, found, expected),
        }
        None
    }
}
