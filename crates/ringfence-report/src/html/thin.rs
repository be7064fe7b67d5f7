//! Less data than was recorded, but no other data: what goes into a page.

/// A time in which one thing held on one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Start in nanoseconds.
    pub start_ns: u64,
    /// End in nanoseconds, not before the start.
    pub end_ns: u64,
    /// What held, such as the index of the thread that ran.
    pub what: u16,
}

impl Slice {
    fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Merges short slices until all `rows` together have at most `most`.
///
/// Returns the rows and the resolution in nanoseconds: 0 if nothing was merged,
/// otherwise every slice at least that long is still there, exact.
pub fn thin(rows: Vec<Vec<Slice>>, most: usize) -> (Vec<Vec<Slice>>, u64) {
    let total = |rows: &[Vec<Slice>]| rows.iter().map(Vec::len).sum::<usize>();
    if total(&rows) <= most {
        return (rows, 0);
    }
    let mut resolution_ns = 1_000;
    loop {
        let thinned: Vec<_> = rows
            .iter()
            .map(|row| merge_short(row, resolution_ns))
            .collect();
        let end_ns = rows
            .iter()
            .flatten()
            .map(|slice| slice.end_ns)
            .max()
            .unwrap_or(0);
        if total(&thinned) <= most || resolution_ns > end_ns {
            return (thinned, resolution_ns);
        }
        resolution_ns *= 2;
    }
}

/// Joins neighbours that are each shorter than `resolution_ns` and less than
/// that apart, up to that length; the longest of them names the result.
fn merge_short(row: &[Slice], resolution_ns: u64) -> Vec<Slice> {
    let mut merged: Vec<Slice> = Vec::new();
    let mut longest_ns = 0;
    for &slice in row {
        let joins = merged.last().is_some_and(|last| {
            last.length_ns() < resolution_ns
                && slice.length_ns() < resolution_ns
                && slice.start_ns - last.end_ns < resolution_ns
        });
        match merged.last_mut() {
            Some(last) if joins => {
                last.end_ns = slice.end_ns;
                if slice.length_ns() > longest_ns {
                    longest_ns = slice.length_ns();
                    last.what = slice.what;
                }
            }
            _ => {
                merged.push(slice);
                longest_ns = slice.length_ns();
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row() -> impl Strategy<Value = Vec<Slice>> {
        prop::collection::vec((0u64..5_000, 1u64..20_000, 0u16..4), 0..200).prop_map(|parts| {
            let mut time = 0;
            parts
                .into_iter()
                .map(|(gap, length, what)| {
                    let start_ns = time + gap;
                    time = start_ns + length;
                    Slice {
                        start_ns,
                        end_ns: time,
                        what,
                    }
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn long_slices_survive_and_rows_stay_ordered(row in row(), most in 1usize..300) {
            let (thinned, resolution_ns) = thin(vec![row.clone()], most);
            let thinned = &thinned[0];
            prop_assert!(thinned.len() <= most.max(1));
            prop_assert!(thinned.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
            if resolution_ns == 0 {
                prop_assert_eq!(thinned, &row);
            }
            for slice in row.iter().filter(|slice| slice.length_ns() >= resolution_ns) {
                prop_assert!(thinned.contains(slice));
            }
        }
    }
}
