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
    /// Nothing for a problem with the file as a whole.
    span: Option<Span>,
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

    /// What stands at `span` in the file.
    pub(crate) fn text_at(&self, span: Span) -> &str {
        let Span { start, end } = self.clamp(span);
        self.source.get(start..end).unwrap_or_default()
    }

    /// Notes that `found` stands at `span` where `expected` should.
    pub(crate) fn report(
        &mut self,
        span: Span,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        let span = Some(self.clamp(span));
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
        let span = Some(self.clamp(span));
        self.push(span, found.into(), expected.into(), Some(help.into()));
    }

    /// Notes a problem with the file as a whole, which has no place in it.
    pub(crate) fn report_file(
        &mut self,
        found: impl Into<String>,
        expected: impl Into<String>,
        help: Option<String>,
    ) {
        self.push(None, found.into(), expected.into(), help);
    }

    fn push(&mut self, span: Option<Span>, found: String, expected: String, help: Option<String>) {
        self.list.push(Problem {
            span,
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

/// Most problems that are written out as text; more than anybody reads at once.
const SHOWN_MAX: usize = 100;

/// Everything that is wrong with a scenario or platform file, in the order of the file.
///
/// [`Display`](fmt::Display) gives plain text (the first 100 problems),
/// [`Diagnostics::coloured`] the same for a terminal, and serialisation the
/// whole list of `{file, line, column, message, expected, help}`.
#[derive(Debug)]
pub struct Diagnostics {
    files: Vec<Problems>,
}

/// One problem, located.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic<'a> {
    /// File as it was named by the user.
    pub file: &'a str,
    /// Line, counted from 1; 1 also for a problem with the file as a whole, such as a missing file.
    pub line: usize,
    /// Column in characters, counted from 1; 1 also for a problem with the file as a whole.
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
        let mut blocks: Vec<String> = self
            .located()
            .take(SHOWN_MAX)
            .map(|(file, problem)| render_problem(file, problem, renderer))
            .collect();
        let more = self.located().skip(SHOWN_MAX).count();
        if more > 0 {
            blocks.push(format!("and {more} more"));
        }
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
    let before = &file.source[..problem.span.map_or(0, |span| span.start)];
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
    let Some(Span { start, end }) = problem.span else {
        return render_file_problem(file, problem);
    };
    let place = diagnostic(file, problem);
    let first = file.source[..start].rfind('\n').map_or(0, |at| at + 1);
    let last = file.source[end..]
        .find('\n')
        .map_or(file.source.len(), |at| end + at);
    let excerpt = Snippet::source(&file.source[first..last])
        .line_start(place.line)
        .annotation(AnnotationKind::Primary.span(start - first..end - first));
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

/// A problem with the file as a whole: no line, no excerpt.
fn render_file_problem(file: &Problems, problem: &Problem) -> String {
    let Problem {
        found, expected, ..
    } = problem;
    let help = problem
        .help
        .iter()
        .map(|help| format!("\n  = help: {help}"));
    let head = format!("{}: error: {found}, expected {expected}", file.file);
    head + &help.collect::<String>()
}
