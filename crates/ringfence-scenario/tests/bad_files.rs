//! What is said about each file of `tests/bad`: the `.txt` beside it.
//! `UPDATE=1 cargo test` rewrites them; read the difference.

use std::path::{Path, PathBuf};

use ringfence_scenario::{Diagnostics, NoFiles, load, load_platform, parse};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad")
}

/// The files of `tests/bad` that end in `.toml`, sorted.
fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    files
}

/// Files that start with `platform-` are platforms, the others scenarios.
fn diagnose(path: &Path) -> Diagnostics {
    let name = path.file_name().unwrap().to_string_lossy();
    let result = if name.starts_with("platform-") {
        load_platform(&path.to_string_lossy()).err()
    } else {
        load(path).err()
    };
    result.unwrap_or_else(|| panic!("{name} is accepted"))
}

#[test]
fn every_bad_file_is_refused_with_the_expected_words() {
    let update = std::env::var_os("UPDATE").is_some();
    let here = format!("{}/", folder().display());
    let mut wrong = Vec::new();
    let files = files();
    assert!(files.len() >= 40, "only {} bad files", files.len());
    for path in files {
        let said = format!("{}\n", diagnose(&path)).replace(&here, "");
        let expected_path = path.with_extension("txt");
        if update {
            std::fs::write(&expected_path, &said).unwrap();
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if said != expected {
            wrong.push(format!(
                "{}: expected\n{expected}\nbut was told\n{said}",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn json_has_the_same_places() {
    for path in files() {
        let diagnostics = diagnose(&path);
        let json = serde_json::to_value(&diagnostics).unwrap();
        let text = diagnostics.to_string();
        for entry in json.as_array().unwrap() {
            let head = format!(
                "{}:{}:{}: error: found {}, expected {}",
                entry["file"].as_str().unwrap(),
                entry["line"],
                entry["column"],
                entry["message"].as_str().unwrap(),
                entry["expected"].as_str().unwrap()
            );
            assert!(text.contains(&head), "{head}\nis not in\n{text}");
        }
    }
}

#[test]
fn colours_are_asked_for() {
    let diagnostics = diagnose(&files()[0]);
    assert!(!diagnostics.to_string().contains('\x1b'));
    assert!(diagnostics.coloured().contains('\x1b'));
}

#[test]
fn a_flood_of_problems_is_cut_in_text_and_whole_in_json() {
    let source: String = (0..251).map(|i| format!("key_{i} = 1\n")).collect();
    let diagnostics = parse(&source, "many.toml", Path::new(""), &NoFiles).unwrap_err();
    // 251 unknown keys, and no [scenario].
    assert_eq!(diagnostics.iter().count(), 252);
    let text = diagnostics.to_string();
    assert_eq!(text.matches("error: found").count(), 100);
    assert!(text.ends_with("and 152 more"));
}

#[test]
fn a_missing_file_has_no_place() {
    let diagnostics = load(Path::new("nosuch.toml")).unwrap_err();
    assert_eq!(
        diagnostics.to_string(),
        "nosuch.toml: error: no such file, expected a TOML file\n  = help: check the path"
    );
    let json = serde_json::to_value(&diagnostics).unwrap();
    assert_eq!(json[0]["file"], "nosuch.toml");
    assert_eq!(
        (&json[0]["line"], &json[0]["column"]),
        (&1.into(), &1.into())
    );
    assert_eq!(json[0]["message"], "no such file");

    let folder = load(&folder()).unwrap_err().to_string();
    assert!(folder.contains(": error: the file cannot be read (is a directory), "));
}

#[test]
fn an_unknown_platform_has_no_place() {
    let said = load_platform("jetson-nan").unwrap_err().to_string();
    assert_eq!(
        said,
        "jetson-nan: error: no such platform, expected `celeron-j3455`, `jetson-nano`, \
         `jetson-tx2`, `raspberry-pi-3`, `raspberry-pi-4` or `zcu104` \
         or the path of a platform file, ending in .toml\n  = help: did you mean `jetson-nano`?"
    );
}
