//! Partitions: cores that exist, and no core in two of them.

use super::Checker;
use super::names::refuse_duplicates;
use crate::model::Partition;

/// The policy core keeps this many partitions (`policy/include/ringfence/gang.h`).
const PARTITIONS_MAX: usize = 64;

impl Checker<'_> {
    /// The partitions in the order of the file.
    pub(super) fn partitions(&mut self) -> Vec<Option<Partition>> {
        let tables = &self.file.partition;
        if let Some(table) = tables.get(PARTITIONS_MAX) {
            self.problems.report(
                table.span,
                format!("{} partitions", tables.len()),
                format!("at most {PARTITIONS_MAX}"),
            );
        }
        refuse_duplicates(
            "partition",
            tables.iter().map(|table| &table.value.name),
            self.problems,
        );
        self.refuse_overlap();
        self.partition_list().into_iter().map(Some).collect()
    }

    /// What the file says, unchecked; all cores in one partition when it says nothing.
    pub(super) fn partition_list(&self) -> Vec<Partition> {
        if !self.file.vm.is_empty() {
            let vms = self.file.vm.iter().map(|vm| &vm.value);
            return vms
                .map(|vm| partition(&vm.name.value.0, &vm.cores.value.0))
                .collect();
        }
        if self.file.partition.is_empty() {
            return vec![Partition {
                name: "all".to_owned(),
                cores: (0..self.platform.cores).collect(),
            }];
        }
        self.file
            .partition
            .iter()
            .map(|table| partition(&table.value.name.value.0, &table.value.cores.value.0))
            .collect()
    }

    fn refuse_overlap(&mut self) {
        let mut owners: Vec<(u16, &str)> = Vec::new();
        for table in &self.file.partition {
            let (name, cores) = (&table.value.name.value.0, &table.value.cores);
            self.refuse_missing_cores(&cores.value.0, cores.span);
            let taken = cores
                .value
                .0
                .iter()
                .find_map(|core| owners.iter().find(|(owned, _)| owned == core));
            if let Some((core, owner)) = taken {
                self.problems.report(
                    cores.span,
                    format!("core {core} in the partitions `{owner}` and `{name}`"),
                    "each core in one partition at most",
                );
            }
            owners.extend(cores.value.0.iter().map(|&core| (core, name.as_str())));
        }
    }
}

fn partition(name: &str, cores: &[u16]) -> Partition {
    let mut cores = cores.to_vec();
    cores.sort_unstable();
    Partition {
        name: name.to_owned(),
        cores,
    }
}
