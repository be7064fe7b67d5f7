//! Classes of service: ways and colours that the last-level cache has.

use super::Checker;
use super::names::refuse_duplicates;
use crate::file::Located;
use crate::file::numbers::{Kind, Numbers};
use crate::file::scenario::ClassOfServiceTable;
use crate::file::value::Name;
use crate::model::ClassOfService;

impl Checker<'_> {
    /// The classes of service in the order of the file.
    pub(super) fn classes_of_service(&mut self) -> Vec<Option<ClassOfService>> {
        let tables = &self.file.class_of_service;
        refuse_duplicates(
            "class of service",
            tables.iter().map(|table| &table.value.name),
            self.problems,
        );
        tables
            .iter()
            .map(|table| self.class_of_service(table))
            .collect()
    }

    fn class_of_service(&mut self, table: &Located<ClassOfServiceTable>) -> Option<ClassOfService> {
        let class = &table.value;
        let Some(memory) = &self.platform.memory else {
            self.problems.report(
                table.span,
                "a class of service on a platform without memory",
                "a platform with a last-level cache",
            );
            return None;
        };
        let ways = self.below(class.ways.as_ref(), memory.llc.ways as u16);
        let colours = self.below(class.colours.as_ref(), memory.page_colours());
        Some(ClassOfService {
            name: class.name.value.0.clone(),
            way_mask: ways?.iter().fold(0, |mask, way| mask | 1 << way),
            colours: colours?,
        })
    }

    /// `numbers`, ascending, each below `count`; all of them where none are given.
    pub(super) fn below<K: Kind>(
        &mut self,
        numbers: Option<&Located<Numbers<K>>>,
        count: u16,
    ) -> Option<Vec<u16>> {
        let Some(Located { value, span }) = numbers else {
            return Some((0..count).collect());
        };
        let mut numbers = value.0.clone();
        numbers.sort_unstable();
        let highest = *numbers.last()?;
        if highest >= count {
            self.problems.report(
                *span,
                format!("{} {highest}", K::ONE),
                format!(
                    "{} 0 to {} of the last-level cache of {}",
                    K::MANY,
                    count - 1,
                    self.platform.name
                ),
            );
            return None;
        }
        Some(numbers)
    }

    /// The class of service that a gang or best-effort work names.
    pub(super) fn class_named(&mut self, name: Option<&Located<Name>>) -> Option<usize> {
        let name = name?;
        let known: Vec<&str> = self
            .file
            .class_of_service
            .iter()
            .map(|class| class.value.name.value.0.as_str())
            .collect();
        self.find("class of service", &name.value.0, name.span, &known)
    }
}
