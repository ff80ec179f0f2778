//! Names of routers, endpoints and ports, and the words for them in messages.

use super::Topology;
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// Names of the routers, endpoints and ports of a real network. Names replace numbers in errors, proofs and reports,
/// stand beside them in tables, and can be used to specify faults.
///
/// ```toml
/// [topology.names]
/// routers = ["leaf0", "leaf1", "spine0"]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Names {
    /// A name for each router, no two alike; none if left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<String>,
    /// A name for each endpoint, no two alike; none if left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// For each router the names of its ports, in the order of its ports, no two alike; none if left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Vec<String>>,
}

/// Most characters of a name.
const LONGEST: usize = 200;

impl Names {
    /// Checks that names are complete and distinct: all routers have names or none has, and likewise for endpoints and
    /// ports. Error paths are relative to the table of names.
    pub(super) fn check(&self, graph: &dyn Topology) -> Result<(), ScenarioError> {
        let each = |key: &str, what: &str, names: &[String], count: usize| match names.len() {
            0 => Ok(()),
            given if given == count => distinct(key, names),
            given => {
                let expected = format!("expected {count} names, one for each {what}");
                Err(ScenarioError::new(key, format!("a list of {given}"), expected))
            }
        };
        each("routers", "router", &self.routers, graph.routers() as usize)?;
        each("endpoints", "endpoint", &self.endpoints, graph.endpoints() as usize)?;
        if !self.ports.is_empty() && self.ports.len() != graph.routers() as usize {
            let expected = format!("expected {} lists, one for each router", graph.routers());
            return Err(ScenarioError::new("ports", format!("a list of {}", self.ports.len()), expected));
        }
        for (router, names) in (0..).zip(&self.ports) {
            each(&format!("ports[{router}]"), "port of the router", names, graph.ports(router).into())?;
        }
        Ok(())
    }
}

/// Checks that a name can be read in tables and plots.
pub(crate) fn check_name(path: impl Into<String>, name: &str) -> Result<(), ScenarioError> {
    if name.trim() != name || name.is_empty() || name.chars().count() > LONGEST || name.contains(char::is_control) {
        let expected = "expected a name of 1 to 200 visible characters";
        return Err(ScenarioError::new(path, format_args!("{name:?}"), expected));
    }
    Ok(())
}

/// Checks that each is a name, and that no two are alike.
fn distinct(key: &str, names: &[String]) -> Result<(), ScenarioError> {
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        let path = format!("{key}[{index}]");
        check_name(path.as_str(), name)?;
        if !seen.insert(name) {
            let expected = "another has this name; expected names that differ";
            return Err(ScenarioError::new(path, format_args!("{name:?}"), expected));
        }
    }
    Ok(())
}

/// Words for a network's routers, endpoints and ports: their names, or their numbers where they have none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words<'a>(Option<&'a Arc<Names>>);

impl<'a> Words<'a> {
    /// Words with these names.
    pub fn of(names: Option<&'a Arc<Names>>) -> Self {
        Self(names)
    }

    /// The names.
    pub fn names(self) -> Option<&'a Arc<Names>> {
        self.0
    }

    /// The name of a router, if it has one.
    pub fn router_name(self, router: u32) -> Option<&'a str> {
        Some(self.0?.routers.get(router as usize)?.as_str())
    }

    /// The name of an endpoint, if it has one.
    pub fn endpoint_name(self, endpoint: u32) -> Option<&'a str> {
        Some(self.0?.endpoints.get(endpoint as usize)?.as_str())
    }

    /// The name of a port, if it has one.
    pub fn port_name(self, router: u32, port: u16) -> Option<&'a str> {
        Some(self.0?.ports.get(router as usize)?.get(usize::from(port))?.as_str())
    }

    /// A router: `router 3`, or `router leaf3`.
    pub fn router(self, router: u32) -> String {
        match self.router_name(router) {
            Some(name) => format!("router {}", shown(name)),
            None => format!("router {router}"),
        }
    }

    /// An endpoint: `endpoint 12`, or `endpoint host12`.
    pub fn endpoint(self, endpoint: u32) -> String {
        match self.endpoint_name(endpoint) {
            Some(name) => format!("endpoint {}", shown(name)),
            None => format!("endpoint {endpoint}"),
        }
    }

    /// A second endpoint in a sentence: `12`, or `endpoint host12`.
    pub fn endpoint_again(self, endpoint: u32) -> String {
        match self.endpoint_name(endpoint) {
            Some(_) => self.endpoint(endpoint),
            None => endpoint.to_string(),
        }
    }

    /// The port of a router, without the router.
    pub fn port_alone(self, router: u32, port: u16) -> Cow<'a, str> {
        match self.port_name(router, port) {
            // Numbers of ports are written as such everywhere.
            Some(name) if name.chars().all(|c| c.is_ascii_digit()) => name.into(),
            Some(name) => shown(name),
            None => port.to_string().into(),
        }
    }

    /// The port of a router: `router 3 port 7`, or `leaf3 port 7`.
    pub fn port(self, router: u32, port: u16) -> String {
        let number = self.port_alone(router, port);
        match self.router_name(router) {
            Some(name) => format!("{} port {number}", shown(name)),
            None => format!("router {router} port {number}"),
        }
    }

    /// A router as the value of a key: `3`, or `"leaf3"`.
    pub fn router_value(self, router: u32) -> String {
        self.router_name(router).map_or_else(|| router.to_string(), |name| format!("{name:?}"))
    }
}

/// A name as a part of a sentence. It gets quotation marks if it could be read as several words or as a number.
fn shown(name: &str) -> Cow<'_, str> {
    let one_word = name.contains(|c: char| !c.is_ascii_digit()) && !name.contains([' ', '\'', '"', ',']);
    if one_word { name.into() } else { format!("'{name}'").into() }
}

/// Finds the routers and endpoints of a network that a scenario gives by number or by name.
pub struct Lookup<'a> {
    routers: Places<'a>,
    endpoints: Places<'a>,
}

impl<'a> Lookup<'a> {
    /// For the routers and endpoints of this network.
    pub fn new(topology: &'a dyn Topology) -> Self {
        let names = topology.words().names();
        let places = |one, what, count, names: Option<&'a Vec<String>>| {
            let names = names.map_or(&[][..], Vec::as_slice);
            Places { one, what, count, names, numbers: OnceCell::new() }
        };
        Self {
            routers: places("a router", "router", topology.routers(), names.map(|names| &names.routers)),
            endpoints: places("an endpoint", "endpoint", topology.endpoints(), names.map(|names| &names.endpoints)),
        }
    }

    /// The number of a router. The error is about the key that `path` returns.
    pub fn router(&self, path: impl FnOnce() -> String, given: &Named) -> Result<u32, ScenarioError> {
        self.routers.find(given).map_err(|error| error.under(&path()))
    }

    /// The number of an endpoint. The error is about the key that `path` returns.
    pub fn endpoint(&self, path: impl FnOnce() -> String, given: &Named) -> Result<u32, ScenarioError> {
        self.endpoints.find(given).map_err(|error| error.under(&path()))
    }

    /// The numbers of the routers that a key lists.
    pub fn listed_routers(&self, key: &str, given: &[Named]) -> Result<Vec<u32>, ScenarioError> {
        given.iter().enumerate().map(|(index, one)| self.router(|| format!("{key}[{index}]"), one)).collect()
    }

    /// The numbers of the endpoints that a key lists.
    pub fn listed_endpoints(&self, key: &str, given: &[Named]) -> Result<Vec<u32>, ScenarioError> {
        given.iter().enumerate().map(|(index, one)| self.endpoint(|| format!("{key}[{index}]"), one)).collect()
    }
}

/// The routers of a network, or its endpoints.
struct Places<'a> {
    one: &'static str,
    what: &'static str,
    count: u32,
    names: &'a [String],
    /// The number of each name, made when the first name is asked for.
    numbers: OnceCell<HashMap<&'a str, u32>>,
}

impl Places<'_> {
    fn find(&self, given: &Named) -> Result<u32, ScenarioError> {
        let last = self.count.saturating_sub(1);
        match given {
            Named::Number(number) if *number < self.count => Ok(*number),
            Named::Number(number) => Err(ScenarioError::new("", number, format!("expected {}, 0 to {last}", self.one))),
            Named::Name(name) if self.names.is_empty() => {
                let expected = format!("expected the number of {}, 0 to {last}: there are no names here", self.one);
                Err(ScenarioError::new("", format_args!("{name:?}"), expected))
            }
            Named::Name(name) => {
                let numbered = || (0..).zip(self.names).map(|(number, name)| (name.as_str(), number)).collect();
                let found = self.numbers.get_or_init(numbered).get(name.as_str()).copied();
                let known = || self.names.iter().map(String::as_str);
                found.ok_or_else(|| ScenarioError::unknown("", name, self.what, known()))
            }
        }
    }
}

/// A router or an endpoint, by its number or by its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Named {
    /// Its number, from 0 on.
    Number(u32),
    /// Its name among `topology.names`.
    Name(String),
}

impl Default for Named {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl From<u32> for Named {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Named;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a name")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Named, E> {
                let known = u32::try_from(number).map(Named::Number);
                known.map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Named, E> {
                let known = u32::try_from(number).map(Named::Number);
                known.map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Named, E> {
                Ok(Named::Name(name.to_owned()))
            }
        }
        d.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests;
