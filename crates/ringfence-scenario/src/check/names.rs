//! Names: unique where they are given, known where they are used.

use super::Checker;
use crate::diagnostic::Problems;
use crate::file::value::{Name, Names};
use crate::file::{Located, quoted_list};
use crate::suggest::nearest;

/// Reports every name that an earlier one of `names` has taken.
pub(super) fn refuse_duplicates<'a>(
    what: &str,
    names: impl IntoIterator<Item = &'a Located<Name>>,
    problems: &mut Problems,
) {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        let text = name.value.0.as_str();
        if seen.contains(&text) {
            problems.report(
                name.span,
                format!("the name `{text}` a second time"),
                format!("a different name for each {what}"),
            );
        } else {
            seen.push(text);
        }
    }
}

impl Checker<'_> {
    /// The place of `name` among `known`; reports an unknown one.
    pub(super) fn find(
        &mut self,
        what: &str,
        name: &str,
        span: crate::diagnostic::Span,
        known: &[&str],
    ) -> Option<usize> {
        let place = known.iter().position(|candidate| *candidate == name);
        if place.is_none() && self.complete {
            let found = format!("the unknown {what} `{name}`");
            let expected = match known {
                [] => format!("no name, as the file has no {what}"),
                _ => quoted_list(known),
            };
            match nearest(name, known.iter().copied()) {
                Some(near) => self.problems.report_with_help(
                    span,
                    found,
                    expected,
                    format!("did you mean `{near}`?"),
                ),
                None => self.problems.report(span, found, expected),
            }
        }
        place
    }

    /// The places of `names` among `known`, ascending; reports unknown and repeated ones.
    pub(super) fn find_all(&mut self, what: &str, names: &Names, known: &[&str]) -> Vec<usize> {
        let mut places = Vec::new();
        for name in &names.0 {
            let Some(place) = self.find(what, &name.value.0, name.span, known) else {
                continue;
            };
            if places.contains(&place) {
                self.problems.report(
                    name.span,
                    format!("`{}` twice", name.value.0),
                    format!("each {what} once"),
                );
            } else {
                places.push(place);
            }
        }
        places.sort_unstable();
        places
    }
}
