//! Guests: what the VMs of the hypervisor boot.

use super::Checker;
use crate::file::Located;
use crate::file::vm::GuestTable;
use crate::vm::{Guest, Image, Ram};

impl Checker<'_> {
    /// What the VM boots.
    pub(super) fn guest(&mut self, guest: &Located<GuestTable>, ram: Option<Ram>) -> Option<Guest> {
        let Located { value: table, span } = guest;
        match (&table.image, &table.kernel) {
            (Some(image), None) => {
                self.refuse_alone("initrd", &table.initrd, "kernel");
                self.refuse_alone("command_line", &table.command_line, "kernel");
                Some(Guest::BareMetal {
                    image: match image.value.0.contains(['.', '/']) {
                        true => Image::File(self.base.join(&image.value.0)),
                        false => Image::BuiltIn(image.value.0.clone()),
                    },
                    entry: self.entry(table, ram),
                    arguments: self.arguments(table),
                })
            }
            (None, Some(kernel)) => {
                self.refuse_alone("entry", &table.entry, "image");
                self.refuse_alone("arguments", &table.arguments, "image");
                let path = |text: &str| self.base.join(text);
                Some(Guest::Linux {
                    kernel: path(&kernel.value.0),
                    initrd: table.initrd.as_ref().map(|initrd| path(&initrd.value.0)),
                    command_line: table
                        .command_line
                        .as_ref()
                        .map(|line| line.value.0.clone())
                        .unwrap_or_default(),
                })
            }
            (image, _) => {
                let found = match image {
                    Some(_) => "an `image` beside a `kernel`",
                    None => "a guest without an image",
                };
                self.problems
                    .report(*span, found, "either `image` or `kernel`");
                None
            }
        }
    }

    /// A key of a guest that goes with another one, which is not there.
    fn refuse_alone<T>(&mut self, key: &str, field: &Option<Located<T>>, other: &str) {
        if let Some(field) = field {
            self.problems.report(
                field.span,
                format!("`{key}` without `{other}`"),
                format!("`{key}` in a guest with `{other}` only"),
            );
        }
    }

    /// The entry of an image; the start of the RAM when none is given.
    fn entry(&mut self, table: &GuestTable, ram: Option<Ram>) -> u64 {
        let start = ram.map_or(Ram::GUEST_ADDRESS, |ram| ram.guest_address);
        let Some(entry) = &table.entry else {
            return start;
        };
        let end = ram.map_or(Ram::GUEST_END, |ram| start.saturating_add(ram.size_bytes));
        if !(start..end).contains(&entry.value.0) || !entry.value.0.is_multiple_of(4) {
            self.problems.report(
                entry.span,
                format!("the entry {:#x}", entry.value.0),
                format!(
                    "an instruction in the VM's RAM, {start:#x} to {end:#x}, at a multiple of 4"
                ),
            );
        }
        entry.value.0
    }

    fn arguments(&mut self, table: &GuestTable) -> Vec<u64> {
        let Some(arguments) = &table.arguments else {
            return Vec::new();
        };
        if arguments.value.0.len() > Guest::ARGUMENTS_MAX {
            self.problems.report(
                arguments.span,
                format!("{} arguments", arguments.value.0.len()),
                format!("at most {}", Guest::ARGUMENTS_MAX),
            );
        }
        arguments.value.0.clone()
    }
}
