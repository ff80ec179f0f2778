//! One line per mechanism: the macro that makes an enum of parameter structs selected by `kind`.

/// Defines an enum whose variants hold the parameter structs of one concept, selected in a scenario by `kind`.
///
/// From each line `"name" => Variant(path::Params)` follow the scenario key, the error with the nearest known name,
/// the entry of `phit list` and the JSON Schema. Each parameter struct must be serde- and schemars-derived with
/// `deny_unknown_fields`; the first paragraph of its documentation is its description.
#[macro_export]
macro_rules! registry {
    ($(#[$meta:meta])* $vis:vis enum $name:ident: $what:literal as $as:path { $($kind:literal => $variant:ident($params:ty)),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis enum $name { $(#[doc = concat!("`kind = \"", $kind, "\"`")] $variant($params)),+ }

        impl $name {
            /// Names accepted as `kind`.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// The `kind` of this value.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $kind),+ }
            }

            /// The parameters, as what this concept asks of them.
            pub fn params(&self) -> &dyn $as {
                match self { $(Self::$variant(params) => params),+ }
            }

            /// Reads the table found at `path`; a bare string stands for a table with only `kind`.
            pub fn from_value(path: &str, value: &serde_json::Value) -> Result<Self, $crate::error::ScenarioError> {
                let (kind, rest) = $crate::registry::split_kind(path, value, $what, Self::KINDS)?;
                match kind.as_str() {
                    $($kind => $crate::error::parse::<$params>(path, &rest).map(Self::$variant),)+
                    other => Err($crate::error::ScenarioError::unknown(
                        $crate::error::join(path, "kind"), other, $what, Self::KINDS.iter().copied())),
                }
            }

            /// The table this value was read from, with every default filled in.
            pub fn to_value(&self) -> serde_json::Value {
                let (kind, value) = match self {
                    $(Self::$variant(params) => ($kind, serde_json::to_value(params))),+
                };
                let mut table = serde_json::Map::new();
                table.insert("kind".into(), kind.into());
                if let Ok(serde_json::Value::Object(rest)) = value { table.extend(rest); }
                serde_json::Value::Object(table)
            }

            /// `(kind, schema)` of every entry.
            pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
                vec![$(($kind, schemars::schema_for!($params))),+]
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&self.to_value(), serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
                Self::from_value("", &value).map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> { $what.replace(' ', "_").into() }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::registry::one_of($what, Self::schemas())
            }
        }
    };
}

use crate::error::{ScenarioError, join};
use serde_json::{Map, Value, json};

/// Splits a table into its `kind` and the rest.
pub fn split_kind(path: &str, value: &Value, what: &str, kinds: &[&str]) -> Result<(String, Value), ScenarioError> {
    let known = || format!("expected a {what}: one of {}", kinds.join(", "));
    match value {
        Value::String(kind) => Ok((kind.clone(), Value::Object(Map::new()))),
        Value::Object(table) => {
            let mut rest = table.clone();
            match rest.shift_remove("kind") {
                Some(Value::String(kind)) => Ok((kind, Value::Object(rest))),
                Some(other) => Err(ScenarioError::new(join(path, "kind"), other, known())),
                None => Err(ScenarioError::missing(join(path, "kind"), known())),
            }
        }
        other => Err(ScenarioError::new(path, other, format!("{} (a table with `kind`, or a name)", known()))),
    }
}

/// The schema of a table whose `kind` selects one of several sets of keys.
pub fn one_of(what: &str, schemas: Vec<(&'static str, schemars::Schema)>) -> schemars::Schema {
    let variants: Vec<Value> = schemas
        .into_iter()
        .map(|(kind, schema)| {
            let mut schema = schema.to_value();
            if let Some(table) = schema.as_object_mut() {
                table.remove("$schema");
                let properties = table.entry("properties").or_insert_with(|| json!({}));
                if let Some(properties) = properties.as_object_mut() {
                    properties.insert("kind".into(), json!({ "const": kind }));
                }
                let required = table.entry("required").or_insert_with(|| json!([]));
                if let Some(required) = required.as_array_mut() {
                    required.push("kind".into());
                }
            }
            schema
        })
        .collect();
    let mut schema = schemars::Schema::default();
    schema.insert("title".into(), what.into());
    schema.insert("oneOf".into(), Value::Array(variants));
    schema
}
