//! Who had which share of the last-level cache.

use std::fmt;

use ringfence_record::event::Case;
use serde::{Deserialize, Serialize};

/// A share of the last-level cache, and the work that had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheShare {
    /// Name of the class of service.
    pub class_of_service: String,
    /// Ways, ascending.
    pub ways: Vec<u16>,
    /// Page colours, ascending.
    pub colours: Vec<u16>,
    /// Names of tasks and best-effort work.
    pub work: Vec<String>,
}

impl CacheShare {
    /// The shares of `case`, whose declarations are good.
    pub(crate) fn of(case: &Case) -> Vec<Self> {
        let classes = case.classes_of_service.iter();
        classes
            .map(|class| {
                let threads = class.threads.iter();
                let mut work: Vec<String> = threads
                    .map(|&thread| {
                        let name = &case.threads[usize::from(thread)].name;
                        // Threads are numbered: `dnn/0`.
                        name.rsplit_once('/')
                            .map_or(&**name, |(work, _)| work)
                            .into()
                    })
                    .collect();
                work.dedup();
                Self {
                    class_of_service: class.name.clone(),
                    ways: class.ways.clone(),
                    colours: class.colours.clone(),
                    work,
                }
            })
            .collect()
    }
}

impl fmt::Display for CacheShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: ways {}, colours {} for {}",
            self.class_of_service,
            ranges(&self.ways),
            ranges(&self.colours),
            self.work.join(", ")
        )
    }
}

/// Ascending numbers as people write them: `0-3, 8`.
pub fn ranges(numbers: &[u16]) -> String {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let texts = runs.map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    texts.collect::<Vec<_>>().join(", ")
}
