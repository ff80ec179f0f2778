//! Errors that a user can cause: always the key, the value, what was expected and the nearest valid name.

use serde_json::Value;
use std::fmt;

/// A scenario that cannot be simulated, refused before anything runs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct ScenarioError {
    /// Dotted path of the key, for example `topology.p`.
    pub path: String,
    /// The offending value as the user wrote it, if there is one.
    pub value: Option<String>,
    /// What is wrong and what was expected, one sentence without a full stop.
    pub expected: String,
    /// The nearest valid name, for a misspelt key or kind.
    pub nearest: Option<String>,
}

impl ScenarioError {
    /// An error at `path` whose value is `value`.
    pub fn new(path: impl Into<String>, value: impl fmt::Display, expected: impl Into<String>) -> Self {
        Self { path: path.into(), value: Some(value.to_string()), expected: expected.into(), nearest: None }
    }

    /// An error about a key that is not there.
    pub fn missing(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { path: path.into(), value: None, expected: expected.into(), nearest: None }
    }

    /// An error about a name that is not among `known`; suggests the nearest.
    pub fn unknown<'a>(
        path: impl Into<String>,
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        Self {
            path: path.into(),
            value: Some(format!("{name:?}")),
            expected: format!("unknown {what}; expected one of {}", known.join(", ")),
            nearest: nearest(name, &known),
        }
    }

    /// The same error with `prefix.` put before its path.
    pub fn under(mut self, prefix: &str) -> Self {
        self.path = join(prefix, &self.path);
        self
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "scenario")?;
        } else {
            write!(f, "{}", self.path)?;
        }
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        write!(f, ": {}", self.expected)?;
        if let Some(nearest) = &self.nearest {
            write!(f, " (did you mean {nearest:?}?)")?;
        }
        Ok(())
    }
}

/// `prefix.path`, either of which may be empty.
pub fn join(prefix: &str, path: &str) -> String {
    match (prefix.is_empty(), path.is_empty()) {
        (_, true) => prefix.to_owned(),
        (true, _) => path.to_owned(),
        _ => format!("{prefix}.{path}"),
    }
}

/// The name in `known` most like `name`, if any is close enough to be a likely slip.
pub fn nearest(name: &str, known: &[&str]) -> Option<String> {
    known
        .iter()
        .map(|k| (strsim::normalized_damerau_levenshtein(name, k).max(strsim::jaro_winkler(name, k) - 0.2), *k))
        .filter(|(score, _)| *score >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k.to_owned())
}

/// Reads a value of type `T` found at `path`, turning serde's complaint into one that names key, value and expectation.
pub fn parse<T: serde::de::DeserializeOwned>(path: &str, value: &Value) -> Result<T, ScenarioError> {
    serde_path_to_error::deserialize(value.clone()).map_err(|error| {
        let inner = error.path().to_string();
        let inner = if inner == "." { String::new() } else { inner };
        from_serde(path, &inner, value, &error.inner().to_string())
    })
}

fn from_serde(path: &str, inner: &str, root: &Value, message: &str) -> ScenarioError {
    let found =
        inner.split(['.', '[']).filter(|s| !s.is_empty()).try_fold(root, |v, key| match key.strip_suffix(']') {
            Some(index) => v.get(index.parse::<usize>().ok()?),
            None => v.get(key),
        });
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        let name = quoted.first().copied().unwrap_or_default();
        let known = quoted.get(1..).unwrap_or_default();
        let field = message.starts_with("unknown field");
        let at = match (field, inner.rsplit('.').next() == Some(name)) {
            (true, false) => join(inner, name),
            _ => inner.to_owned(),
        };
        let mut error =
            ScenarioError::unknown(join(path, &at), name, if field { "key" } else { "name" }, known.iter().copied());
        if field {
            error.value = at.split('.').try_fold(root, |v, key| v.get(key)).map(Value::to_string);
        }
        return error;
    }
    if let Some(name) = message.strip_prefix("missing field `") {
        let name = name.split('`').next().unwrap_or_default();
        return ScenarioError::missing(join(path, &join(inner, name)), "this key is required");
    }
    let expected = match message.split_once(", expected ") {
        // A whole number that is refused all the same is too large for its type.
        Some((_, expected)) if found.is_some_and(Value::is_u64) && most(expected).is_some() => {
            format!("expected a whole number of at most {}", most(expected).unwrap_or_default())
        }
        Some((_, expected)) => format!("expected {}", plain_type(expected)),
        None => message.to_owned(),
    };
    ScenarioError { path: join(path, inner), value: found.map(Value::to_string), expected, nearest: None }
}

/// The largest number of a type.
fn most(expected: &str) -> Option<u32> {
    match expected {
        "u8" => Some(u8::MAX.into()),
        "u16" => Some(u16::MAX.into()),
        "u32" => Some(u32::MAX),
        _ => None,
    }
}

fn plain_type(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, zero or more".into(),
        "f64" => "a number".into(),
        "a map" | "a Value" => "a table".into(),
        other if other.starts_with("struct ") => "a table".into(),
        other => other.replace("u32", "a whole number, zero or more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code)]
    struct Table {
        count: u32,
        #[serde(default)]
        small: u8,
        #[serde(default)]
        list: Vec<[u32; 2]>,
    }

    fn said(value: Value) -> String {
        parse::<Table>("at", &value).unwrap_err().to_string()
    }

    #[test]
    fn a_number_in_a_list_is_named_by_its_place() {
        let error = said(json!({ "count": 1, "list": [[0, 1], [2, -3]] }));
        assert_eq!(error, "at.list[1][1] = -3: expected a whole number, zero or more");
    }

    #[test]
    fn a_number_too_large_for_its_key_is_told_the_largest() {
        assert_eq!(said(json!({ "count": 1, "small": 256 })), "at.small = 256: expected a whole number of at most 255");
        let error = said(json!({ "count": 4_294_967_296u64 }));
        assert_eq!(error, "at.count = 4294967296: expected a whole number of at most 4294967295");
    }
}
