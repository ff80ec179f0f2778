//! Errors that a user can cause. Each has the key, the value, the expectation and the nearest valid name.

use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// A scenario that cannot be simulated, refused before anything runs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct ScenarioError {
    /// Dotted path of the key, for example `topology.p`.
    pub path: String,
    /// The offending value as the user wrote it, if there is one.
    pub value: Option<String>,
    /// The problem and the expectation, as one sentence without a full stop.
    pub expected: String,
    /// The nearest valid name, for a misspelt key or kind.
    pub nearest: Option<String>,
    /// Further errors of the document. They have no `others` themselves.
    pub others: Vec<ScenarioError>,
}

/// Most names that a message lists.
const MOST_LISTED: usize = 200;

impl ScenarioError {
    /// An error at `path` whose value is `value`.
    pub fn new(path: impl Into<String>, value: impl fmt::Display, expected: impl Into<String>) -> Self {
        Self { value: Some(value.to_string()), ..Self::missing(path, expected) }
    }

    /// An error about a key that is not there.
    pub fn missing(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { path: path.into(), value: None, expected: expected.into(), nearest: None, others: Vec::new() }
    }

    /// An error about a name that is not in `known`. It suggests the nearest name.
    pub fn unknown<'a>(
        path: impl Into<String>,
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let more = match known.len().saturating_sub(MOST_LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed = known[..known.len().min(MOST_LISTED)].join(", ");
        let expected = format!("unknown {what}; expected one of {listed}{more}");
        Self { nearest: nearest(name, &known), ..Self::new(path, format_args!("{name:?}"), expected) }
    }

    /// This error with `prefix.` put before its path.
    pub fn under(mut self, prefix: &str) -> Self {
        for error in self.others.iter_mut() {
            error.path = join(prefix, &error.path);
        }
        self.path = join(prefix, &self.path);
        self
    }

    /// This error and all others, each by itself.
    pub fn each(mut self) -> Vec<Self> {
        let others = std::mem::take(&mut self.others);
        std::iter::once(self).chain(others).collect()
    }

    /// True if this error adds nothing to `before`. It is about the same key, or about a missing key that `before`
    /// found misspelt or wrong inside.
    fn follows_from(&self, before: &Self) -> bool {
        let meant = before.nearest.as_ref().map(|name| match before.path.rsplit_once('.') {
            Some((table, _)) => join(table, name),
            None => name.clone(),
        });
        let within = before.path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with(['.', '[']));
        self.path == before.path || self.value.is_none() && (within || meant.as_ref() == Some(&self.path))
    }
}

/// The errors of a document, in the order in which they were found.
#[derive(Debug, Default)]
pub struct Findings(Vec<ScenarioError>);

impl Findings {
    /// Adds an error and its `others`, except errors that follow from earlier ones.
    pub fn add(&mut self, error: ScenarioError) {
        for error in error.each() {
            if !self.0.iter().any(|before| error.follows_from(before)) {
                self.0.push(error);
            }
        }
    }

    /// The value that was read. If there are errors instead, they are added.
    pub fn take<T>(&mut self, read: Result<T, ScenarioError>) -> Option<T> {
        read.map_err(|error| self.add(error)).ok()
    }

    /// The value that was read last, unless there is any error.
    pub fn and<T>(self, read: Result<T, ScenarioError>) -> Result<T, ScenarioError> {
        match read {
            Ok(read) => self.into_result().map(|()| read),
            Err(error) => Err(self.ending_with(error)),
        }
    }

    /// The first error; the others, of which `last` is the last, are attached to it.
    fn ending_with(mut self, last: ScenarioError) -> ScenarioError {
        self.add(last.clone());
        self.into_result().err().unwrap_or(last)
    }

    /// The first error, with the others attached; `Ok` if there are none.
    pub fn into_result(self) -> Result<(), ScenarioError> {
        let mut all = self.0.into_iter();
        match all.next() {
            Some(first) => Err(ScenarioError { others: all.collect(), ..first }),
            None => Ok(()),
        }
    }
}

/// `read`, with these other errors attached.
pub fn joined<T>(read: Result<T, ScenarioError>, others: Vec<ScenarioError>) -> Result<T, ScenarioError> {
    match read {
        Ok(read) => gathered(None, others).into_result().map(|()| read),
        Err(error) => Err(gathered(Some(&error), others).ending_with(error)),
    }
}

fn gathered(first: Option<&ScenarioError>, others: Vec<ScenarioError>) -> Findings {
    let mut found = Findings::default();
    first.cloned().into_iter().chain(others).for_each(|error| found.add(error));
    found
}

/// The keys and positions of a path such as `changes[1].load`.
fn steps(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split(['.', '[']).map(|step| step.strip_suffix(']').unwrap_or(step)).filter(|step| !step.is_empty())
}

/// The value at a path below `value`.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    steps(path).try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => value.get(step),
    })
}

/// Removes the key at a path from its table. If the path leads into a list whose element is no table, removes the whole
/// list. False if there is nothing to remove.
pub fn remove(value: &mut Value, path: &str) -> bool {
    let mut steps: Vec<&str> = steps(path).collect();
    while let Some(last) = steps.pop() {
        let table = steps.iter().try_fold(&mut *value, |value, step| match value {
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
            _ => value.get_mut(step),
        });
        if let Some(Value::Object(table)) = table {
            return table.shift_remove(last).is_some();
        }
    }
    false
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "scenario")?;
        } else {
            write!(f, "{}", shortened(&self.path, LONGEST_PATH))?;
        }
        if let Some(value) = &self.value {
            write!(f, " = {}", shortened(value, LONGEST_VALUE))?;
        }
        write!(f, ": {}", shortened(&self.expected, LONGEST_TEXT))?;
        if let Some(nearest) = &self.nearest {
            write!(f, " (did you mean {nearest:?}?)")?;
        }
        self.others.iter().try_for_each(|other| write!(f, "\n{other}"))
    }
}

/// Most characters of a value, a path and an expectation that a message shows. Documents may come from anybody, so they
/// may be long.
const LONGEST_VALUE: usize = 200;
const LONGEST_PATH: usize = 300;
const LONGEST_TEXT: usize = 1500;

/// `text` with at most `most` characters. Longer texts lose their middle.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    // A text has at least as many bytes as characters.
    if text.len() <= most || text.chars().count() <= most {
        return Cow::Borrowed(text);
    }
    let half = (most - 1) / 2;
    let start: String = text.chars().take(half).collect();
    let mut end: Vec<char> = text.chars().rev().take(half).collect();
    end.reverse();
    Cow::Owned(format!("{start}…{}", end.into_iter().collect::<String>()))
}

/// `prefix.path`, either of which may be empty.
pub fn join(prefix: &str, path: &str) -> String {
    match (prefix.is_empty(), path.is_empty()) {
        (_, true) => prefix.to_owned(),
        (true, _) => path.to_owned(),
        _ => format!("{prefix}.{path}"),
    }
}

/// The name in `known` that is most like `name`, if it is close enough for a likely typing error.
pub fn nearest(name: &str, known: &[&str]) -> Option<String> {
    known
        .iter()
        .map(|k| (strsim::normalized_damerau_levenshtein(name, k).max(strsim::jaro_winkler(name, k) - 0.2), *k))
        .filter(|(score, _)| *score >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k.to_owned())
}

/// Reads a value of type `T` found at `path`. An error names key, value and expectation, and includes all independent
/// errors.
///
/// This function is compiled for every type of table. So code that does not depend on the type is in separate
/// functions.
pub fn read<T: DeserializeOwned>(path: &str, value: &Value) -> Result<T, ScenarioError> {
    let attempt = |value: &Value| {
        serde_path_to_error::deserialize::<_, T>(value)
            .map_err(|error| Refusal { at: error.path().to_string(), message: error.inner().to_string() })
    };
    attempt(value).map_err(|first| refused(path, value, first, &|left| attempt(left).err()))
}

/// An error of serde: a path ("." for the whole) and a message.
struct Refusal {
    at: String,
    message: String,
}

/// The errors in `value`. A reader has stopped with error `first`; `again` reads the remainder of the value.
fn refused(path: &str, value: &Value, first: Refusal, again: &dyn Fn(&Value) -> Option<Refusal>) -> ScenarioError {
    let mut found = Findings::default();
    let mut left = Cow::Borrowed(value);
    let mut refusal = first;
    loop {
        let inner = if refusal.at == "." { "" } else { &refusal.at };
        let error = from_serde(inner, &left, &refusal.message);
        // The reader stops at the first error. Without that key, or without the table that lacks one, it finds the next
        // error.
        let mut more = false;
        for one in error.clone().each() {
            let key = if one.value.is_some() { one.path.as_str() } else { table_of(&one.path) };
            more |= remove(left.to_mut(), key);
            found.add(one.under(path));
        }
        refusal = match more.then(|| again(&left)).flatten() {
            Some(next) => next,
            None => return found.ending_with(error.under(path)),
        };
    }
}

/// Turns the error of a nested table into a text for `serde::de::Error::custom`, from which [`read`] of the outer table
/// restores it.
pub fn carried(error: &ScenarioError) -> String {
    let parts = (&error.path, &error.value, &error.expected, &error.nearest);
    let others: Vec<String> = error.others.iter().map(carried).collect();
    format!("{CARRIED}{}", serde_json::json!([parts, others]))
}

/// A character that occurs in no message.
const CARRIED: char = '\u{1f}';

fn uncarried(text: &str) -> Option<ScenarioError> {
    type Parts = (String, Option<String>, String, Option<String>);
    let ((path, value, expected, nearest), others): (Parts, Vec<String>) =
        serde_json::from_str(text.strip_prefix(CARRIED)?).ok()?;
    let others = others.iter().filter_map(|other| uncarried(other)).collect();
    Some(ScenarioError { path, value, expected, nearest, others })
}

/// The expectation for a missing key.
pub(crate) const REQUIRED: &str = "this key is required";

/// The path of the table that has the key at `path`.
fn table_of(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(table, _)| table)
}

fn from_serde(inner: &str, root: &Value, message: &str) -> ScenarioError {
    if let Some(error) = uncarried(message) {
        return error.under(inner);
    }
    let found = at(root, inner);
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        let name = quoted.first().copied().unwrap_or_default();
        let known = quoted.get(1..).unwrap_or_default();
        let field = message.starts_with("unknown field");
        let key = match (field, inner.rsplit('.').next() == Some(name)) {
            (true, false) => join(inner, name),
            _ => inner.to_owned(),
        };
        let mut error =
            ScenarioError::unknown(key.clone(), name, if field { "key" } else { "name" }, known.iter().copied());
        if field {
            error.value = at(root, &key).map(Value::to_string);
        }
        return error;
    }
    if let Some(name) = message.strip_prefix("missing field `") {
        let name = name.split('`').next().unwrap_or_default();
        return ScenarioError::missing(join(inner, name), REQUIRED);
    }
    let expected = match message.split_once(", expected ") {
        // A whole number that is still refused is too large for its type.
        Some((_, expected)) if found.is_some_and(Value::is_u64) && most(expected).is_some() => {
            format!("expected a whole number of at most {}", most(expected).unwrap_or_default())
        }
        Some((_, expected)) => {
            let expected = plain_type(expected);
            let whole_number = found.filter(|_| expected.starts_with("a whole number")).and_then(whole);
            let number = || found.filter(|_| expected.contains("number")).and_then(written);
            format!("expected {expected}{}", whole_number.or_else(number).unwrap_or_default())
        }
        None => message.to_owned(),
    };
    ScenarioError { value: found.map(Value::to_string), ..ScenarioError::missing(inner, expected) }
}

/// The correct notation for a whole number with a decimal point or an exponent, which is not accepted.
fn whole(value: &Value) -> Option<String> {
    let number = value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0)?;
    // Below this limit all whole numbers are exact.
    (0.0..9e15).contains(&number).then(|| format!(", without a decimal point or an exponent: write {number:.0}"))
}

/// The correct notation for a number that is given as text: in quotation marks, or as a percentage.
fn written(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| format!(", not a percentage: write {}", percent / 100.0)),
        None => number(text).map(|_| format!(", without quotation marks: write {text}")),
    }
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
    use crate::schema::parse;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code)]
    struct Table {
        count: u32,
        #[serde(default)]
        small: u8,
        #[serde(default)]
        list: Vec<[u32; 2]>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code)]
    struct Share {
        share: f64,
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

    #[test]
    fn a_whole_number_in_another_notation_is_told_as_it_is_to_be_written() {
        let write = "expected a whole number, zero or more, without a decimal point or an exponent: write 1000000000";
        assert_eq!(said(json!({ "count": 1e9 })), format!("at.count = 1000000000.0: {write}"));
        assert_eq!(said(json!({ "count": 1.5 })), "at.count = 1.5: expected a whole number, zero or more");
    }

    #[test]
    fn a_number_as_text_is_told_as_it_is_to_be_written() {
        let said = |value| parse::<Share>("at", &json!({ "share": value })).unwrap_err().to_string();
        assert_eq!(said("10 %"), "at.share = \"10 %\": expected a number, not a percentage: write 0.1");
        assert_eq!(said("0.3"), "at.share = \"0.3\": expected a number, without quotation marks: write 0.3");
        assert_eq!(said("much"), "at.share = \"much\": expected a number");
    }

    #[test]
    fn independent_errors_come_together() {
        let error = said(json!({ "cuont": 1, "small": "x", "list": [[0, 1], [2]], "more": 2 }));
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 4, "{error}");
        assert!(lines[0].starts_with("at.cuont = 1: unknown key"), "{error}");
        assert_eq!(lines[1], "at.small = \"x\": expected a whole number, zero or more");
        assert!(lines[2].starts_with("at.list"), "{error}");
        assert!(lines[3].starts_with("at.more = 2: unknown key"), "{error}");
    }

    #[test]
    fn a_message_quotes_so_much_and_no_more() {
        let long = "ä".repeat(1_000_000);
        let error = ScenarioError::new(long.as_str(), format_args!("{long:?}"), long.as_str()).to_string();
        assert!(error.chars().count() < 2100, "{} characters", error.chars().count());
        assert!(error.starts_with("ää") && error.contains('…'));
        let many = json!({ "count": 1, "list": vec![json!([0, -1]); 100_000] });
        assert!(said(many).lines().all(|line| line.len() < 2500));
        assert_eq!((shortened("abc", 3), shortened("abcdefg", 5)), ("abc".into(), "ab…fg".into()));
        assert_eq!(shortened("ääää", 4), "ääää");
    }

    #[test]
    fn a_misspelt_key_is_not_also_missing() {
        assert_eq!(said(json!({ "cuont": 1 })).lines().count(), 1);
        assert_eq!(said(json!({})), "at.count: this key is required");
    }

    #[test]
    fn all_keys_that_are_missing_are_named() {
        #[derive(Debug, Deserialize, JsonSchema)]
        #[expect(dead_code)]
        struct Three {
            first: u32,
            second: u32,
            #[serde(default)]
            third: u32,
        }
        let said = |value: Value| parse::<Three>("at", &value).unwrap_err().to_string();
        assert_eq!(said(json!({})), "at.first: this key is required\nat.second: this key is required");
        assert_eq!(said(json!({ "second": 1 })), "at.first: this key is required");
    }
}
