//! Tests of names and words.

use super::*;
use crate::topology::TopologyKind;
use serde_json::{Value, json};

/// Two leaves under two spines, with two hosts at each leaf.
fn tree(more: Value) -> Value {
    let mut tree = json!({
        "kind": "graph", "routers": 4, "endpoints": [2, 2, 0, 0], "links": [[0, 2], [0, 3], [1, 2], [1, 3]],
        "names": {
            "routers": ["leaf0", "leaf 1", "spine0", "7"],
            "endpoints": ["a", "b", "c", "d"],
            "ports": [["1", "2", "up", "9"], ["1", "2", "3", "4"], ["1", "2"], ["1", "2"]],
        },
    });
    for (key, value) in more.as_object().unwrap() {
        tree[key] = value.clone();
    }
    tree
}

fn built(more: Value) -> Result<Arc<dyn Topology>, ScenarioError> {
    TopologyKind::from_value("topology", &tree(more)).and_then(|kind| kind.build())
}

fn refused(more: Value) -> String {
    built(more).unwrap_err().to_string()
}

#[test]
fn words_are_names_where_there_are_names() {
    let tree = built(json!({})).unwrap();
    let words = tree.words();
    assert_eq!((words.router(0).as_str(), words.port(0, 2).as_str()), ("router leaf0", "leaf0 port up"));
    assert_eq!(words.port(0, 3), "leaf0 port 9", "ports are numbered as the operator numbers them");
    // Names of several words, and names like numbers, are set apart from the sentence.
    assert_eq!((words.router(1).as_str(), words.port(1, 0).as_str()), ("router 'leaf 1'", "'leaf 1' port 1"));
    assert_eq!(words.router(3), "router '7'");
    assert_eq!((words.endpoint(3).as_str(), words.endpoint_again(3).as_str()), ("endpoint d", "endpoint d"));
    let unnamed = Words::default();
    assert_eq!((unnamed.router(0).as_str(), unnamed.port(0, 2).as_str()), ("router 0", "router 0 port 2"));
    assert_eq!((unnamed.endpoint(3).as_str(), unnamed.endpoint_again(3).as_str()), ("endpoint 3", "3"));
    // Only some sorts have names.
    let few = built(json!({ "names": { "routers": ["a", "b", "c", "d"] } })).unwrap();
    assert_eq!((few.words().port(1, 2).as_str(), few.words().endpoint(1).as_str()), ("b port 2", "endpoint 1"));
}

#[test]
fn names_that_name_nothing_are_refused() {
    let names = |names: Value| refused(json!({ "names": names }));
    let short = "topology.names.routers = a list of 1: expected 4 names, one for each router";
    assert_eq!(names(json!({ "routers": ["a"] })), short);
    assert_eq!(
        names(json!({ "endpoints": ["a", "b", "c", "a"] })),
        "topology.names.endpoints[3] = \"a\": another has this name; expected names that differ"
    );
    assert_eq!(
        names(json!({ "ports": [["1"], [], [], []] })),
        "topology.names.ports[0] = a list of 1: expected 4 names, one for each port of the router"
    );
    for bad in ["", " a", "a\u{1b}[2J"] {
        let found = names(json!({ "routers": [bad, "b", "c", "d"] }));
        assert!(found.ends_with("expected a name of 1 to 200 visible characters"), "{found}");
    }
}

#[test]
fn faults_are_given_by_names() {
    let without = |faults: Value| built(json!({ "faults": faults }));
    let named = without(json!({ "routers": ["spine0"], "endpoints": ["b"] })).unwrap();
    let numbered = without(json!({ "routers": [2], "endpoints": [1] })).unwrap();
    let dead = |graph: &dyn Topology| {
        let ports = (0..4).flat_map(|router| (0..graph.ports(router)).map(move |port| (router, port)));
        (ports.map(|(r, p)| graph.port(r, p).peer).collect::<Vec<_>>(), graph.faulty().unwrap().off().to_vec())
    };
    assert_eq!(dead(&*named), dead(&*numbered));
    let link = without(json!({ "links": [["leaf0", "spine0"]] })).unwrap();
    assert_eq!(dead(&*link), dead(&*without(json!({ "links": [[0, 2]] })).unwrap()));
    assert_ne!(dead(&*link), dead(&*named));
    assert_eq!(link.words().router(0), "router leaf0", "what is left keeps its names");

    let refused = |faults: Value| refused(json!({ "faults": faults }));
    assert_eq!(
        refused(json!({ "routers": ["spine2"] })),
        "topology.faults.routers[0] = \"spine2\": unknown router; expected one of leaf0, leaf 1, spine0, 7 \
         (did you mean \"spine0\"?)"
    );
    assert_eq!(
        refused(json!({ "links": [["leaf0", "leaf 1"]] })),
        "topology.faults.links[0] = [\"leaf0\", \"leaf 1\"]: no (further) link between these two routers"
    );
    let cut = refused(json!({ "links": [["leaf0", "spine0"], ["leaf0", "7"]] }));
    assert!(cut.contains("no way is left from router leaf0 to router 'leaf 1'"), "{cut}");
    let unnamed = json!({ "names": null, "faults": { "routers": ["spine0"] } });
    assert_eq!(
        self::refused(unnamed),
        "topology.faults.routers[0] = \"spine0\": expected the number of a router, 0 to 3: there are no names here"
    );
}

#[test]
fn errors_of_a_network_speak_of_its_routers() {
    let apart = refused(json!({ "links": [[0, 2], [1, 3]] }));
    assert!(apart.starts_with("topology.links = router 'leaf 1' and router leaf0: no links lead"), "{apart}");
    let port = refused(json!({ "links": [[0, 2, 0, 0, 0]] }));
    assert!(port.contains("port 0 of router leaf0 is an endpoint's"), "{port}");
}
