//! What the threads did, while they do it and in the end.

use std::io::Write as _;

use ringfence_scenario::quantity::SIZE;
use serde::Serialize;

const SECOND_NS: u64 = 1_000_000_000;

/// What a thread did.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Its core, if it was pinned.
    core: Option<u16>,
    pub accesses: u64,
    pub time_ns: u64,
    ns_per_access: f64,
    bytes_per_s: f64,
    /// Of each whole second, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bytes_per_s_by_second: Vec<f64>,
    #[serde(skip)]
    line_bytes: u64,
    #[serde(skip)]
    start_ns: u64,
    /// Accesses and time when the last second ended.
    #[serde(skip)]
    before: (u64, u64),
}

impl Figures {
    /// Nothing yet.
    pub fn begin(core: Option<u16>, line_bytes: u64, now_ns: u64) -> Self {
        Self {
            core,
            accesses: 0,
            time_ns: 0,
            ns_per_access: 0.0,
            bytes_per_s: 0.0,
            bytes_per_s_by_second: Vec::new(),
            line_bytes,
            start_ns: now_ns,
            before: (0, 0),
        }
    }

    /// `accesses` more until now.
    pub fn add(&mut self, accesses: u64, now_ns: u64) {
        self.accesses += accesses;
        self.time_ns = (now_ns - self.start_ns).max(1);
        self.ns_per_access = self.time_ns as f64 / self.accesses.max(1) as f64;
        self.bytes_per_s = bandwidth(self.accesses * self.line_bytes, self.time_ns);
    }

    /// Notes the bandwidth of the second that has ended, if one has, and prints it.
    pub fn end_second(&mut self, print: bool) {
        let (accesses, time_ns) = self.before;
        if self.time_ns - time_ns < SECOND_NS {
            return;
        }
        let bytes = (self.accesses - accesses) * self.line_bytes;
        let bytes_per_s = bandwidth(bytes, self.time_ns - time_ns);
        self.before = (self.accesses, self.time_ns);
        self.bytes_per_s_by_second.push(bytes_per_s);
        if print {
            // A reader that is gone ends the report of the end, too, which says so.
            let _ = writeln!(
                std::io::stdout(),
                "{}: after {:.1} s: {:.3} GB/s",
                self.name(),
                self.time_ns as f64 / 1e9,
                bytes_per_s / 1e9
            );
        }
    }

    fn name(&self) -> String {
        self.core
            .map_or("any core".into(), |core| format!("core {core}"))
    }
}

fn bandwidth(bytes: u64, time_ns: u64) -> f64 {
    bytes as f64 / time_ns as f64 * 1e9
}

/// What all did.
#[derive(Debug, Serialize)]
pub struct Report {
    pub format: u32,
    /// Bytes of the array of each thread.
    pub size_bytes: u64,
    /// Bytes of the arrays that lay in huge pages; null where the system does not say.
    pub huge_page_bytes: Option<u64>,
    pub threads: Vec<Figures>,
}

impl ringfence_workloads::report::Report for Report {
    fn text(&self) -> String {
        let mut text = String::new();
        for thread in &self.threads {
            text += &format!(
                "{}: {} accesses in {:.3} s: {:.2} ns each, {:.3} GB/s\n",
                thread.name(),
                thread.accesses,
                thread.time_ns as f64 / 1e9,
                thread.ns_per_access,
                thread.bytes_per_s / 1e9
            );
        }
        text + &match self.huge_page_bytes {
            Some(bytes) => format!("in huge pages: {}\n", SIZE.format(bytes)),
            None => "in huge pages: the system does not say\n".into(),
        }
    }
}
