//! JSON Schemas of the files, for editors and other checkers.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::file::platform::PlatformFile;
use crate::file::scenario::ScenarioFile;

/// The JSON Schema (2020-12) of a scenario file.
pub fn scenario_schema() -> String {
    text(&schema_of::<ScenarioFile>())
}

/// The JSON Schema (2020-12) of a platform file.
pub fn platform_schema() -> String {
    text(&schema_of::<PlatformFile>())
}

/// The schema of a table and of everything in it.
pub(crate) fn schema_of<T: JsonSchema>() -> Schema {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    remove_null(&mut schema);
    schema
}

/// TOML has no null: a key that is optional is left out.
fn remove_null(schema: &mut Schema) {
    transform_subschemas(&mut remove_null, schema);
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [single] = &types[..] {
            let single = single.clone();
            object.insert("type".to_owned(), single);
        }
    }
    let Some(Value::Array(choices)) = object.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice != &json!({"type": "null"}));
    if let [Value::Object(single)] = &choices[..] {
        let mut merged = single.clone();
        object.remove("anyOf");
        merged.append(object);
        *object = merged;
    }
}

fn text(schema: &Schema) -> String {
    format!("{:#}\n", schema.as_value())
}
