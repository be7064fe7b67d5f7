//! From text to a checked scenario or platform.

use std::io;
use std::path::Path;

use toml::de::DeTable;

use crate::builtin::{self, Builtin};
use crate::check;
use crate::diagnostic::{Diagnostics, Problems, Span};
use crate::file::platform::{DramTable, PlatformFile};
use crate::file::scenario::ScenarioFile;
use crate::file::value::Text;
use crate::file::{Located, quoted_list};
use crate::files::{Disk, FileKind, Files};
use crate::model::Scenario;
use crate::platform::{Dram, Platform};
use crate::suggest::nearest;

/// Cache line of a memory that stands alone.
const DRAM_LINE_BYTES: u64 = 64;
/// The place of the table that a file is.
const WHOLE_FILE: Span = Span { start: 0, end: 0 };

/// Reads and checks the scenario file at `path`.
///
/// # Errors
///
/// All that is wrong with it, or that it cannot be read.
pub fn load(path: &Path) -> Result<Scenario, Diagnostics> {
    load_from(path, &Disk)
}

/// Reads and checks the scenario file at `path` of `files`.
///
/// # Errors
///
/// All that is wrong with it, or that it cannot be read.
pub fn load_from(path: &Path, files: &dyn Files) -> Result<Scenario, Diagnostics> {
    let name = path.display().to_string();
    let source = read_text(FileKind::Scenario, path, &name, files)?;
    let base = path.parent().unwrap_or(Path::new(""));
    parse(&source, &name, base, files)
}

/// Reads and checks the platform called `name`: a built-in one, or the path of
/// a platform file when it ends in `.toml`.
///
/// # Errors
///
/// All that is wrong with the file, or that there is none.
pub fn load_platform(name: &str) -> Result<Platform, Diagnostics> {
    if !is_path(name) {
        return match find_builtin(name) {
            Some(platform) => parse_platform(platform.source, platform.path),
            None => {
                let (_, expected, help) = unknown_platform(name);
                Err(refuse_file(name, "no such platform", expected, help))
            }
        };
    }
    let source = read_text(FileKind::Platform, Path::new(name), name, &Disk)?;
    parse_platform(&source, name)
}

/// Checks the scenario in `source`. `file` names it in messages; platform and
/// trace paths in it start from `base` and are looked up in `files`.
///
/// # Errors
///
/// All that is wrong with it.
pub fn parse(
    source: &str,
    file: &str,
    base: &Path,
    files: &dyn Files,
) -> Result<Scenario, Diagnostics> {
    let mut problems = Problems::new(file, source);
    let scenario_file = parse_toml(source, &mut problems)
        .and_then(|table| ScenarioFile::decode_table(&table, WHOLE_FILE, &[], &mut problems));
    let Some(scenario_file) = scenario_file else {
        return Err(Diagnostics::new([problems]));
    };
    let platform = match find_platform(&scenario_file, base, files, &mut problems) {
        Ok(platform) => platform,
        Err(platform_problems) => {
            return Err(Diagnostics::new(
                [Some(problems), platform_problems].into_iter().flatten(),
            ));
        }
    };
    check::scenario(&scenario_file, &platform, base, files, &mut problems)
        .ok_or_else(|| Diagnostics::new([problems]))
}

/// Checks the platform in `source`. `file` names it in messages.
///
/// # Errors
///
/// All that is wrong with it.
pub fn parse_platform(source: &str, file: &str) -> Result<Platform, Diagnostics> {
    platform_from(source, file).map_err(|problems| Diagnostics::new([problems]))
}

/// Reads and checks the main memory called `name`: a built-in one, or the path
/// of a file with the keys of `[memory.dram]` when it ends in `.toml`.
///
/// # Errors
///
/// All that is wrong with the file, or that there is none.
pub fn load_dram(name: &str) -> Result<Dram, Diagnostics> {
    if is_path(name) {
        let source = read_text(FileKind::Platform, Path::new(name), name, &Disk)?;
        return parse_dram(&source, name);
    }
    match builtin::DRAMS.iter().find(|dram| dram.name == name) {
        Some(dram) => parse_dram(dram.source, dram.path),
        None => {
            let names: Vec<&str> = builtin::DRAMS.iter().map(|dram| dram.name).collect();
            let help =
                nearest(name, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            let expected = format!("{} or the path of a .toml file", quoted_list(&names));
            Err(refuse_file(name, "no such memory", expected, help))
        }
    }
}

/// Checks the main memory in `source`, the keys of `[memory.dram]`, for cache
/// lines of 64 bytes. `file` names it in messages.
///
/// # Errors
///
/// All that is wrong with it.
pub fn parse_dram(source: &str, file: &str) -> Result<Dram, Diagnostics> {
    let mut problems = Problems::new(file, source);
    let dram = parse_toml(source, &mut problems)
        .and_then(|table| DramTable::decode_table(&table, WHOLE_FILE, &[], &mut problems))
        .map(|value| {
            let table = Located {
                value,
                span: WHOLE_FILE,
            };
            check::dram::dram(&table, DRAM_LINE_BYTES, &mut problems)
        })
        .filter(|_| problems.is_empty());
    dram.ok_or_else(|| Diagnostics::new([problems]))
}

fn platform_from(source: &str, file: &str) -> Result<Platform, Problems> {
    let mut problems = Problems::new(file, source);
    parse_toml(source, &mut problems)
        .and_then(|table| PlatformFile::decode_table(&table, WHOLE_FILE, &[], &mut problems))
        .and_then(|platform| check::platform::platform(&platform, &mut problems))
        .ok_or(problems)
}

/// The table that `source` holds, or every place where it is not TOML.
pub(crate) fn parse_toml<'s>(source: &'s str, problems: &mut Problems) -> Option<DeTable<'s>> {
    let (table, errors) = DeTable::parse_recoverable(source);
    for error in errors {
        let end = Span {
            start: source.len(),
            end: source.len(),
        };
        problems.report(
            error.span().map_or(end, Span::from),
            format!("invalid TOML ({})", error.message()),
            "a TOML file",
        );
    }
    problems.is_empty().then(|| table.into_inner())
}

/// The platform that the scenario names or contains. The problems of a
/// platform file of its own are returned, all others go to `problems`.
fn find_platform(
    file: &ScenarioFile,
    base: &Path,
    files: &dyn Files,
    problems: &mut Problems,
) -> Result<Platform, Option<Problems>> {
    match (&file.scenario.value.platform, &file.platform) {
        (Some(name), Some(_)) => {
            problems.report(
                name.span,
                "`scenario.platform` beside a [platform] table",
                "one of the two",
            );
            Err(None)
        }
        // The table may be there, with problems that were reported.
        (None, None) if !problems.is_empty() => Err(None),
        (None, None) => {
            problems.report(
                file.scenario.span,
                "no platform",
                format!(
                    "`platform`: {}, the path of a platform file, or a [platform] table",
                    quoted_list(&builtin_names())
                ),
            );
            Err(None)
        }
        (None, Some(table)) => check::platform::platform(&table.value, problems).ok_or(None),
        (Some(name), None) => named_platform(name, base, files, problems),
    }
}

fn named_platform(
    name: &Located<Text>,
    base: &Path,
    files: &dyn Files,
    problems: &mut Problems,
) -> Result<Platform, Option<Problems>> {
    let text = &name.value.0;
    if !is_path(text) {
        let Some(platform) = find_builtin(text) else {
            report_unknown_platform(text, name.span, problems);
            return Err(None);
        };
        files.built_in(platform);
        return platform_from(platform.source, platform.path).map_err(Some);
    }
    let path = base.join(text);
    let read = files.read(FileKind::Platform, base, Path::new(text));
    match read.map(String::from_utf8) {
        Ok(Ok(source)) => platform_from(&source, &path.display().to_string()).map_err(Some),
        Ok(Err(_)) => {
            problems.report(
                name.span,
                format!("a file {} that is not UTF-8", path.display()),
                "a platform file",
            );
            Err(None)
        }
        Err(error) => {
            problems.report(
                name.span,
                match error.kind() {
                    io::ErrorKind::NotFound => format!("no file {}", path.display()),
                    kind => format!("{}, which cannot be read ({kind})", path.display()),
                },
                "a platform file, relative to the folder of the scenario file",
            );
            Err(None)
        }
    }
}

fn report_unknown_platform(name: &str, span: Span, problems: &mut Problems) {
    let (found, expected, help) = unknown_platform(name);
    match help {
        Some(help) => problems.report_with_help(span, found, expected, help),
        None => problems.report(span, found, expected),
    }
}

/// What was found, what was expected, and advice.
fn unknown_platform(name: &str) -> (String, String, Option<String>) {
    let names = builtin_names();
    (
        format!("the unknown platform `{name}`"),
        format!(
            "{} or the path of a platform file, ending in .toml",
            quoted_list(&names)
        ),
        nearest(name, names).map(|near| format!("did you mean `{near}`?")),
    )
}

fn is_path(platform: &str) -> bool {
    platform.ends_with(".toml")
}

fn find_builtin(name: &str) -> Option<&'static Builtin> {
    builtin::PLATFORMS
        .iter()
        .find(|platform| platform.name == name)
}

fn builtin_names() -> Vec<&'static str> {
    builtin::PLATFORMS
        .iter()
        .map(|platform| platform.name)
        .collect()
}

fn read_text(
    kind: FileKind,
    path: &Path,
    name: &str,
    files: &dyn Files,
) -> Result<String, Diagnostics> {
    as_text(files.read(kind, Path::new(""), path), name)
}

/// The text of a file that was read, and that `name` names in messages.
pub(crate) fn as_text(read: io::Result<Vec<u8>>, name: &str) -> Result<String, Diagnostics> {
    let bytes = read.map_err(|error| unreadable(name, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        let mut problems = Problems::new(name, &text);
        problems.report(
            Span { start: at, end: at },
            "a byte that is not UTF-8",
            "a UTF-8 text file",
        );
        Diagnostics::new([problems])
    })
}

fn unreadable(name: &str, error: &io::Error) -> Diagnostics {
    let (found, help) = match error.kind() {
        io::ErrorKind::NotFound => ("no such file".to_owned(), "check the path"),
        kind => (
            format!("the file cannot be read ({kind})"),
            "check that it is a file and that you may read it",
        ),
    };
    refuse_file(
        name,
        &found,
        "a TOML file".to_owned(),
        Some(help.to_owned()),
    )
}

fn refuse_file(name: &str, found: &str, expected: String, help: Option<String>) -> Diagnostics {
    let mut problems = Problems::new(name, "");
    problems.report_file(found, expected, help);
    Diagnostics::new([problems])
}
