//! The reference of the file formats in Markdown, generated from the types.

use std::fmt::{self, Write};

use serde_json::Value;

use crate::file::platform::PlatformFile;
use crate::file::scenario::ScenarioFile;
use crate::schema::schema_of;

/// The reference of scenario and platform files.
pub fn reference_markdown() -> String {
    let mut page = String::from(
        "# Scenario and platform files\n\n\
         <!-- Generated from crates/ringfence-scenario/src/file by \
         `UPDATE=1 cargo test -p ringfence-scenario`. -->\n\n\
         Both are TOML. `ringfence check FILE` says all that is wrong with one, \
         with file, line and column. A problem with a file as a whole, such as a \
         missing one, has no line and column in text; in JSON both are 1.\n",
    );
    let platform = schema_of::<PlatformFile>();
    let platform_tables = definitions(platform.as_value());
    let scenario = schema_of::<ScenarioFile>();
    // The [platform] table of a scenario is described once, as the platform file.
    let scenario_tables = definitions(scenario.as_value())
        .into_iter()
        .filter(|(name, _)| {
            *name != PLATFORM && !platform_tables.iter().any(|(other, _)| other == name)
        })
        .collect();
    write_file(
        &mut page,
        "Scenario file",
        scenario.as_value(),
        scenario_tables,
    )
    .and_then(|()| {
        write_file(
            &mut page,
            "Platform file",
            platform.as_value(),
            platform_tables.clone(),
        )
    })
    .expect("writing to a string cannot fail");
    page
}

/// Name of the definition of a whole platform.
const PLATFORM: &str = "PlatformFile";

/// The named types of a schema.
fn definitions(schema: &Value) -> Vec<(&str, &Value)> {
    let definitions = schema["$defs"].as_object();
    definitions
        .into_iter()
        .flatten()
        .map(|(name, definition)| (name.as_str(), definition))
        .collect()
}

fn write_file(
    page: &mut String,
    title: &str,
    schema: &Value,
    definitions: Vec<(&str, &Value)>,
) -> fmt::Result {
    writeln!(page, "\n## {title}\n\n{}", description(schema))?;
    write_keys(page, schema)?;
    for (name, definition) in definitions {
        write_definition(page, name, definition)?;
    }
    Ok(())
}

fn write_definition(page: &mut String, name: &str, definition: &Value) -> fmt::Result {
    let (heading, table) = (heading(name), table_name(definition));
    writeln!(
        page,
        "\n### {heading}\n\n{table}{}",
        description(definition)
    )?;
    if definition.get("properties").is_some() {
        write_keys(page, definition)?;
    }
    for choice in list(&definition["oneOf"]) {
        match choice["properties"]["kind"]["const"].as_str() {
            Some(kind) => {
                let text = description(choice);
                writeln!(page, "\n#### `kind = \"{kind}\"`\n\n{text}")?;
                write_keys(page, choice)?;
            }
            None => writeln!(page, "- `{}`: {}", choice["const"], description(choice))?,
        }
    }
    Ok(())
}

/// The keys of a table, as a Markdown table.
fn write_keys(page: &mut String, table: &Value) -> fmt::Result {
    let required = list(&table["required"]);
    writeln!(page, "\n| key | value | |\n|---|---|---|")?;
    for (key, schema) in table["properties"].as_object().into_iter().flatten() {
        if key == "kind" {
            continue;
        }
        let need = if required.iter().any(|name| name == key) {
            " **Required.**"
        } else {
            ""
        };
        let text = description(schema).replace('\n', " ");
        writeln!(page, "| `{key}` | {} | {text}{need} |", value(schema))?;
    }
    Ok(())
}

/// What may be written for a key.
fn value(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next()) {
        return link(name);
    }
    if let Some(word) = schema.get("const") {
        return format!("`{word}`");
    }
    let title = schema["title"].as_str();
    if title.is_none() && schema["type"] == "array" {
        return format!("list of {}", value(&schema["items"]));
    }
    let choices: Vec<String> = list(&schema["anyOf"]).iter().map(value).collect();
    let title = title.map_or_else(|| choices.join(" or "), str::to_owned);
    match schema["examples"][0].as_str() {
        Some(example) => format!("{title} such as `\"{example}\"`"),
        None => title,
    }
}

/// A link to the definition of a type.
fn link(name: &str) -> String {
    if name == PLATFORM {
        return "[platform file](#platform-file)".to_owned();
    }
    let text = words(name);
    format!("[{text}](#{})", text.replace(' ', "-"))
}

/// The heading of a definition. Its automatic anchor, in mdBook and on sites
/// that show Markdown, is what [`link`] leads to: lower case, `-` for a space.
fn heading(name: &str) -> String {
    let text = words(name);
    if ["os", "llc", "dram"].contains(&text.as_str()) {
        return text.to_uppercase();
    }
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// How the table stands in the file, such as `[[gang.task]]`, as a start of its description.
fn table_name(definition: &Value) -> String {
    match definition["title"].as_str() {
        Some(table) if table.starts_with('[') => format!("`{table}`: "),
        _ => String::new(),
    }
}

/// `BestEffortTable` as `best effort`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.trim_end_matches("Table").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
