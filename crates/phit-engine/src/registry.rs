//! One line per mechanism: the macro that makes an enum of parameter structs selected by `kind`.

/// Defines an enum whose variants hold the parameter structs of one concept, selected in a scenario by `kind`.
///
/// From each line `"name" => Variant(path::Params)` follow the scenario key, the error with the nearest known name,
/// the entry of `phit list` and the JSON Schema. Each parameter struct must be serde- and schemars-derived with
/// `deny_unknown_fields`; the first paragraph of its documentation is its description.
macro_rules! registry {
    ($(#[$meta:meta])* $vis:vis enum $name:ident: $what:literal as $as:path {
        $($kind:literal => $variant:ident($params:ty)),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis enum $name {
            $(#[doc = concat!("`kind = \"", $kind, "\"`")] $variant($params),)+
            /// Parameters of a kind that is not registered; see [`Self::custom`].
            Custom($crate::registry::Custom<dyn $as + Send + Sync>),
        }

        impl $name {
            /// Names accepted as `kind`.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// Parameters that are not registered, under a name of the caller's choice. Put into a scenario in place of
            /// the parameters from the document, they act like registered ones. A document cannot name them.
            pub fn custom<T>(kind: &'static str, params: T) -> Self
            where
                T: $as + serde::Serialize + Send + Sync + 'static,
            {
                let value = serde_json::to_value(&params).unwrap_or_default();
                Self::Custom($crate::registry::Custom::new(kind, value, std::sync::Arc::new(params)))
            }

            /// The kinds added by [`Self::add`].
            fn added() -> &'static $crate::registry::Shelf<dyn $as + Send + Sync> {
                static ADDED: $crate::registry::Shelf<dyn $as + Send + Sync> = $crate::registry::Shelf::new();
                &ADDED
            }

            /// Adds a kind: from now on documents may name it, and all lists of kinds include it. For programs with
            /// their own mechanisms, before they read the first document. If the name exists already, nothing changes
            /// and false is returned.
            pub fn add<T>(kind: &'static str) -> bool
            where
                T: $as + serde::Serialize + serde::de::DeserializeOwned + schemars::JsonSchema + Send + Sync + 'static,
            {
                let new: $crate::registry::Added<dyn $as + Send + Sync> = $crate::registry::Added {
                    kind,
                    read: |kind, path, value, bounded| {
                        let params: T = match bounded {
                            true => $crate::schema::parse(path, value)?,
                            false => $crate::error::read(path, value)?,
                        };
                        let value = serde_json::to_value(&params).unwrap_or_default();
                        Ok($crate::registry::Custom::new(kind, value, std::sync::Arc::new(params)))
                    },
                    schema: $crate::schema::of::<T>,
                    inner: T::json_schema,
                    check: $crate::schema::check::<T>,
                };
                !Self::KINDS.contains(&kind) && Self::added().put(new)
            }

            /// All names accepted as `kind`, added kinds last.
            pub fn kinds() -> Vec<&'static str> {
                let mut kinds = Self::KINDS.to_vec();
                kinds.extend(Self::added().each(|added| added.kind));
                kinds
            }

            /// The `kind` of this value.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                    Self::Custom(custom) => custom.kind(),
                }
            }

            /// The parameters, as this concept's trait.
            pub fn params(&self) -> &dyn $as {
                match self {
                    $(Self::$variant(params) => params,)+
                    Self::Custom(custom) => custom.params(),
                }
            }

            /// The parameters, shared, for objects built from them to keep.
            pub fn shared(&self) -> std::sync::Arc<dyn $as + Send + Sync> {
                match self {
                    $(Self::$variant(params) => std::sync::Arc::new(params.clone()),)+
                    Self::Custom(custom) => custom.shared(),
                }
            }

            /// Reads the table found at `path`, and checks it against the bounds of its schema. A bare string is a
            /// table with only `kind`.
            pub fn from_value(path: &str, value: &serde_json::Value) -> Result<Self, $crate::error::ScenarioError> {
                let (kind, rest) = $crate::registry::split_kind(path, value, $what, &Self::kinds())
                    .map_err(|error| $crate::registry::with_kinds_of(error, value, Self::schemas))?;
                match kind.as_str() {
                    $($kind => $crate::schema::parse::<$params>(path, &rest).map(Self::$variant),)+
                    other => match Self::added().find(other) {
                        Some(added) => added.read(path, &rest, true).map(Self::Custom),
                        None => Err($crate::registry::unknown(path, other, $what, &Self::kinds())),
                    },
                }
            }

            /// The broken bounds of the schema. A program may have set parameters that no document could hold.
            pub fn broken(&self, path: &str) -> Vec<$crate::error::ScenarioError> {
                match self {
                    $(Self::$variant(params) => {
                        let table = serde_json::to_value(params).unwrap_or_default();
                        $crate::schema::check::<$params>(path, &table)
                    })+
                    Self::Custom(custom) => {
                        let added = Self::added().find(custom.kind());
                        added.map_or_else(Vec::new, |added| (added.check)(path, custom.value()))
                    }
                }
            }

            /// [`Self::from_value`] without checking bounds: nested tables are checked with their outer table.
            fn unbounded(path: &str, value: &serde_json::Value) -> Result<Self, $crate::error::ScenarioError> {
                let (kind, rest) = $crate::registry::split_kind(path, value, $what, &Self::kinds())
                    .map_err(|error| $crate::registry::with_kinds_of(error, value, Self::schemas))?;
                match kind.as_str() {
                    $($kind => $crate::schema::read_all::<$params>(path, &rest).map(Self::$variant),)+
                    other => match Self::added().find(other) {
                        Some(added) => added.read(path, &rest, false).map(Self::Custom),
                        None => Err($crate::registry::unknown(path, other, $what, &Self::kinds())),
                    },
                }
            }

            /// The table this value was read from, with every default filled in.
            pub fn to_value(&self) -> serde_json::Value {
                let (kind, value) = match self {
                    $(Self::$variant(params) => ($kind, serde_json::to_value(params)),)+
                    Self::Custom(custom) => (custom.kind(), Ok(custom.value().clone())),
                };
                let mut table = serde_json::Map::new();
                table.insert("kind".into(), kind.into());
                if let Ok(serde_json::Value::Object(rest)) = value { table.extend(rest); }
                serde_json::Value::Object(table)
            }

            /// `(kind, schema)` of every entry.
            pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
                let mut schemas = vec![$(($kind, $crate::schema::of::<$params>())),+];
                schemas.extend(Self::added().each(|added| (added.kind, (added.schema)())));
                schemas
            }
        }

        impl $crate::registry::Chosen<dyn $as + Send + Sync> for $name {
            fn shared(&self) -> std::sync::Arc<dyn $as + Send + Sync> {
                self.shared()
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
                Self::unbounded("", &value).map_err(|e| serde::de::Error::custom($crate::error::carried(&e)))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> { $what.replace(' ', "_").into() }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut tables = vec![$(($kind, <$params as schemars::JsonSchema>::json_schema(generator))),+];
                tables.extend(Self::added().each(|added| (added.kind, (added.inner)(generator))));
                $crate::registry::one_of($what, tables)
            }
        }
    };
}

pub(crate) use registry;

use crate::error::{ScenarioError, join};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Parameters that are not registered, with their name: these let a program run its own mechanism.
pub struct Custom<P: ?Sized> {
    kind: &'static str,
    value: Value,
    params: Arc<P>,
}

impl<P: ?Sized> Custom<P> {
    /// `params` under the name `kind`. `value` is their table, for results.
    pub fn new(kind: &'static str, value: Value, params: Arc<P>) -> Self {
        Self { kind, value, params }
    }

    /// The name.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The table of the parameters.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The parameters.
    pub fn params(&self) -> &P {
        &self.params
    }

    /// The parameters, shared, to be kept.
    pub fn shared(&self) -> Arc<P> {
        self.params.clone()
    }
}

/// Reads the table of a kind.
type Read<P> = fn(&'static str, &str, &Value, bool) -> Result<Custom<P>, ScenarioError>;

/// A kind that a program has added.
pub(crate) struct Added<P: ?Sized> {
    /// Its name.
    pub(crate) kind: &'static str,
    /// Reads its table, which is found at a path. If the last argument is true, checks it against the bounds of its
    /// schema.
    pub(crate) read: Read<P>,
    /// The complete schema of its table.
    pub(crate) schema: fn() -> Schema,
    /// The schema of its table within a document.
    pub(crate) inner: fn(&mut SchemaGenerator) -> Schema,
    /// The broken bounds of the schema.
    pub(crate) check: fn(&str, &Value) -> Vec<ScenarioError>,
}

impl<P: ?Sized> Added<P> {
    /// Reads its table.
    pub(crate) fn read(&self, path: &str, value: &Value, bounded: bool) -> Result<Custom<P>, ScenarioError> {
        (self.read)(self.kind, path, value, bounded)
    }
}

impl<P: ?Sized> Clone for Added<P> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// The kinds of one concept that a program has added.
pub(crate) struct Shelf<P: ?Sized>(RwLock<Vec<Added<P>>>);

impl<P: ?Sized> Shelf<P> {
    /// Without any kinds.
    pub(crate) const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// Adds a kind; false if its name exists already.
    pub(crate) fn put(&self, new: Added<P>) -> bool {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = all.iter().all(|added| added.kind != new.kind);
        if is_new {
            all.push(new);
        }
        is_new
    }

    /// The results of `of` for each kind.
    pub(crate) fn each<T>(&self, of: impl FnMut(&Added<P>) -> T) -> Vec<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().map(of).collect()
    }

    /// The kind of that name.
    pub(crate) fn find(&self, kind: &str) -> Option<Added<P>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|added| added.kind == kind).cloned()
    }
}

/// A chosen kind of a concept, for code that must not know the list of kinds.
pub trait Chosen<P: ?Sized> {
    /// The parameters of the kind that was chosen.
    fn shared(&self) -> Arc<P>;
}

impl<P: ?Sized> Clone for Custom<P> {
    fn clone(&self) -> Self {
        Self { kind: self.kind, value: self.value.clone(), params: self.params.clone() }
    }
}

impl<P: ?Sized> fmt::Debug for Custom<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.value)
    }
}

impl<P: ?Sized> PartialEq for Custom<P> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.value == other.value
    }
}

/// An error about a table without `kind`. It names the kinds that have the keys of the table.
pub(crate) fn with_kinds_of(
    error: ScenarioError,
    value: &Value,
    schemas: fn() -> Vec<(&'static str, Schema)>,
) -> ScenarioError {
    let Some(table) = value.as_object().filter(|table| !table.is_empty() && !table.contains_key("kind")) else {
        return error;
    };
    let has_all = |schema: &Schema| {
        let keys = schema.get("properties").and_then(Value::as_object);
        keys.is_some_and(|keys| table.keys().all(|key| keys.contains_key(key)))
    };
    let kinds: Vec<String> =
        schemas().iter().filter(|(_, schema)| has_all(schema)).map(|(kind, _)| format!("{kind:?}")).collect();
    let keys: Vec<&str> = table.keys().map(String::as_str).collect();
    match kinds.as_slice() {
        [] => error,
        kinds if kinds.len() > MOST_KINDS => error,
        [first, ..] => {
            let expected = format!("a table with {} is of kind {}", keys.join(", "), kinds.join(" or "));
            ScenarioError { expected: format!("{expected}; write kind = {first}"), ..error }
        }
    }
}

/// Most kinds that this error names.
const MOST_KINDS: usize = 4;

/// Splits a table into its `kind` and the rest.
pub(crate) fn split_kind(
    path: &str,
    value: &Value,
    what: &str,
    kinds: &[&str],
) -> Result<(String, Value), ScenarioError> {
    let article = if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let known = || format!("expected {article} {what}: one of {}", kinds.join(", "));
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

/// The error of a `kind` that is not registered.
pub(crate) fn unknown(path: &str, kind: &str, what: &str, kinds: &[&'static str]) -> ScenarioError {
    ScenarioError::unknown(join(path, "kind"), kind, what, kinds.iter().copied())
}

/// The schema of a table whose `kind` selects one of several sets of keys. It also accepts the bare name of a kind
/// without required keys.
pub(crate) fn one_of(what: &str, tables: Vec<(&'static str, schemars::Schema)>) -> schemars::Schema {
    let mut bare = Vec::new();
    let mut alternatives = vec![Value::Null];
    for (kind, schema) in tables {
        let mut schema = schema.to_value();
        let Some(table) = schema.as_object_mut() else { continue };
        let mut properties = Map::from_iter([("kind".to_owned(), json!({ "const": kind }))]);
        if let Some(Value::Object(own)) = table.remove("properties") {
            properties.extend(own);
        }
        table.insert("properties".into(), properties.into());
        match table.entry("required").or_insert_with(|| json!([])) {
            Value::Array(required) => {
                if required.is_empty() {
                    bare.push(kind);
                }
                required.insert(0, "kind".into());
            }
            _ => continue,
        }
        alternatives.push(schema);
    }
    match bare.is_empty() {
        true => drop(alternatives.remove(0)),
        false => alternatives[0] = json!({ "type": "string", "enum": bare }),
    }
    let mut schema = schemars::Schema::default();
    schema.insert("title".into(), what.into());
    schema.insert("oneOf".into(), Value::Array(alternatives));
    schema
}
