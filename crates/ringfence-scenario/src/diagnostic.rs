//! What is wrong with a file: where, what was found, what was expected, what to do.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::{Serialize, Serializer, ser::SerializeSeq};

/// Bytes `start..end` of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    span: Span,
    found: String,
    expected: String,
    help: Option<String>,
}

/// The problems of one file, collected while it is read and checked.
#[derive(Debug)]
pub(crate) struct Problems {
    file: String,
    source: String,
    list: Vec<Problem>,
}

impl Problems {
    pub(crate) fn new(file: &str, source: &str) -> Self {
        Self {
            file: file.to_owned(),
            source: source.to_owned(),
            list: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Notes that `found` stands at `span` where `expected` should.
    pub(crate) fn report(
        &mut self,
        span: Span,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.push(span, found.into(), expected.into(), None);
    }

    /// As [`Self::report`], with advice.
    pub(crate) fn report_with_help(
        &mut self,
        span: Span,
        found: impl Into<String>,
        expected: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(span, found.into(), expected.into(), Some(help.into()));
    }

    fn push(&mut self, span: Span, found: String, expected: String, help: Option<String>) {
        self.list.push(Problem {
            span: self.clamp(span),
            found,
            expected,
            help,
        });
    }

    /// Moves a span to character boundaries inside the file.
    fn clamp(&self, span: Span) -> Span {
        let start = self.source.floor_char_boundary(span.start);
        let end = self.source.ceil_char_boundary(span.end.max(start));
        Span { start, end }
    }
}

/// Everything that is wrong with a scenario or platform file, in the order of the file.
///
/// [`Display`](fmt::Display) gives plain text, [`Diagnostics::coloured`] the
/// same for a terminal, and serialisation a list of
/// `{file, line, column, message, expected, help}`.
#[derive(Debug)]
pub struct Diagnostics {
    files: Vec<Problems>,
}

/// One problem, located.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic<'a> {
    /// File as it was named by the user.
    pub file: &'a str,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// What was found.
    pub message: &'a str,
    /// What was expected instead.
    pub expected: &'a str,
    /// What to do about it, where there is advice.
    pub help: Option<&'a str>,
}

impl Diagnostics {
    /// Gathers the problems of the files that took part; at least one has some.
    pub(crate) fn new(files: impl IntoIterator<Item = Problems>) -> Self {
        let mut files: Vec<Problems> = files.into_iter().filter(|f| !f.is_empty()).collect();
        for file in &mut files {
            file.list.sort_by_key(|problem| problem.span);
        }
        Self { files }
    }

    /// The problems, located.
    pub fn iter(&self) -> impl Iterator<Item = Diagnostic<'_>> {
        self.located()
            .map(|(file, problem)| diagnostic(file, problem))
    }

    /// The text of [`Display`](fmt::Display) with terminal colours.
    pub fn coloured(&self) -> String {
        self.render(&Renderer::styled())
    }

    fn located(&self) -> impl Iterator<Item = (&Problems, &Problem)> {
        self.files
            .iter()
            .flat_map(|file| file.list.iter().map(move |problem| (file, problem)))
    }

    fn render(&self, renderer: &Renderer) -> String {
        let blocks: Vec<String> = self
            .located()
            .map(|(file, problem)| render_problem(file, problem, renderer))
            .collect();
        blocks.join("\n\n")
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Renderer::plain()))
    }
}

impl std::error::Error for Diagnostics {}

impl Serialize for Diagnostics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for diagnostic in self.iter() {
            list.serialize_element(&diagnostic)?;
        }
        list.end()
    }
}

fn diagnostic<'a>(file: &'a Problems, problem: &'a Problem) -> Diagnostic<'a> {
    let before = &file.source[..problem.span.start];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Diagnostic {
        file: &file.file,
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: &problem.found,
        expected: &problem.expected,
        help: problem.help.as_deref(),
    }
}

fn render_problem(file: &Problems, problem: &Problem, renderer: &Renderer) -> String {
    let place = diagnostic(file, problem);
    let excerpt = Snippet::source(&file.source)
        .annotation(AnnotationKind::Primary.span(problem.span.start..problem.span.end));
    let mut group = Group::with_level(Level::ERROR).element(excerpt);
    if let Some(help) = &problem.help {
        group = group.element(Level::HELP.message(help));
    }
    format!(
        "{}:{}:{}: error: found {}, expected {}\n{}",
        place.file,
        place.line,
        place.column,
        problem.found,
        problem.expected,
        renderer.render(&[group])
    )
}
