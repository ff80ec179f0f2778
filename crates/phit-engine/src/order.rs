//! The order of modules: no module uses a module that comes after it.
//!
//! The order is given by the groups of `mod` lines, separated by empty lines, in `lib.rs` and in every `mod.rs` whose
//! documentation says "stand in order". A module may use modules of earlier groups. Modules of one group do not use
//! each other. Code in such a `mod.rs` itself comes right after the last group that it uses. Tests may use everything.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Uses that go upwards all the same in the kernel of input-queued routers, as (module, what it uses). The list may
/// only become shorter.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// Fields of a partition that all of its stages may touch. The number may only become smaller: state belongs to a role,
/// with private fields.
const SHARED_FIELDS: usize = 45;

/// Roles of a partition's state in the kernel of input-queued routers, as (file, type): their fields are private.
const ROLES: &[(&str, &str)] = &[
    ("allocation/connections.rs", "Connections"),
    ("allocation/paths.rs", "Paths"),
    ("endpoints/admittance.rs", "Admittance"),
    ("endpoints/exchange.rs", "Exchange"),
    ("endpoints/hosted.rs", "Hosted"),
    ("endpoints/repeats.rs", "Repeats"),
    ("endpoints/reserving.rs", "Reserving"),
    ("endpoints/streams.rs", "Streams"),
    ("endpoints/throttle.rs", "Throttle"),
    ("mechanisms/management.rs", "Management"),
    ("mechanisms/probing.rs", "Probing"),
    ("mechanisms/signals.rs", "Signals"),
    ("post/office.rs", "PostOffice"),
    ("state/backlogs.rs", "Backlogs"),
    ("state/expiring.rs", "Expiring"),
    ("state/outages.rs", "Outages"),
    ("state/pauses.rs", "Pauses"),
    ("state/pools.rs", "Pools"),
    ("state/severed.rs", "Severed"),
    ("waiting/agenda.rs", "Agenda"),
    ("waiting/at_outputs.rs", "AtOutputs"),
    ("waiting/candidates.rs", "Candidates"),
    ("waiting/wait_lists.rs", "WaitLists"),
    ("wiring/rates.rs", "PortRates"),
];

/// Source text without comments and without its test modules, which stand last in a file.
fn code(text: &str) -> String {
    let opens = |at: &usize| text[*at..].lines().nth(1).is_some_and(|line| line.ends_with('{'));
    let end = text.match_indices("#[cfg(test)]\nmod ").map(|(at, _)| at).find(opens).unwrap_or(text.len());
    let code = text[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

/// The names on the first level of a `{...}` list.
fn names(list: &str) -> Vec<&str> {
    let (mut depth, mut found, mut start) = (0, vec![], 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => {
                found.push(&list[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.into_iter().map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// All paths below the crate's root in `text`, which is the source of module `here`. Lists of names are followed one
/// level deep.
fn paths(text: &str, here: &[String]) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    let mut open: Vec<(Vec<String>, String)> = vec![];
    let code = code(text);
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(word) || code[..at].ends_with("super::") {
                continue;
            }
            let (mut base, mut rest) = (here.to_vec(), &code[at..]);
            while let Some(after) = rest.strip_prefix("super::") {
                base.pop();
                rest = after;
            }
            if let Some(after) = rest.strip_prefix("crate::") {
                (base, rest) = (vec![], after);
            }
            open.push((base, rest.to_owned()));
        }
    }
    while let Some((mut base, rest)) = open.pop() {
        let rest = rest.trim_start();
        if let Some(list) = rest.strip_prefix('{') {
            names(list).into_iter().for_each(|name| open.push((base.clone(), name.to_owned())));
            continue;
        }
        let name: String = rest.chars().take_while(|letter| word(*letter)).collect();
        if name.is_empty() {
            continue;
        }
        let after = &rest[name.len()..];
        if name != "self" {
            base.push(name);
        }
        match after.strip_prefix("::") {
            Some(after) if base.len() < 8 => open.push((base, after.to_owned())),
            _ => drop(found.insert(base)),
        }
    }
    found
}

/// The groups of modules that a `lib.rs` or `mod.rs` declares, without test modules.
fn groups(text: &str) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = vec![vec![]];
    let mut for_tests = false;
    for line in text.lines().map(str::trim) {
        let declared = line.trim_start_matches("pub ").trim_start_matches("pub(crate) ").strip_prefix("mod ");
        match declared.and_then(|name| name.strip_suffix(';')) {
            Some(name) if !for_tests => groups.last_mut().expect("there is one").push(name.to_owned()),
            _ if line.is_empty() => groups.push(vec![]),
            _ => {}
        }
        for_tests = line == "#[cfg(test)]";
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![];
    for entry in fs::read_dir(folder).expect("the sources are there").map(|entry| entry.expect("readable").path()) {
        match entry.is_dir() {
            true => all.extend(files(&entry)),
            false => all.push(entry),
        }
    }
    all.sort();
    all
}

/// The module of a file, as a path below the crate's root.
fn module(root: &Path, file: &Path) -> Vec<String> {
    let parts = file.strip_prefix(root).expect("a source").with_extension("");
    let mut parts: Vec<String> = parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// The place, in the order of `parent`, of the module named by the next part of `path`. If it is none of the parent's
/// modules, the place of the parent's own code.
fn place(groups: &[Vec<String>], own: usize, next: Option<&String>) -> (usize, Option<String>) {
    let at = next.and_then(|next| groups.iter().position(|group| group.contains(next)));
    // Doubled, so that the parent's own code has a place between two groups.
    at.map_or((own, None), |at| (2 * at, next.cloned()))
}

/// Uses that go upwards in the order that `declared`, the source of module `parent`, gives.
fn upwards(parent: &[String], declared: &str, sources: &[(Vec<String>, String)]) -> Vec<String> {
    let groups = groups(declared);
    let below = |path: &[String]| path.starts_with(parent);
    let used_by_itself = paths(declared, parent).into_iter().filter(|path| below(path) && path.len() > parent.len());
    let highest = used_by_itself.filter_map(|path| groups.iter().position(|group| group.contains(&path[parent.len()])));
    let own = highest.max().map_or(0, |at| 2 * at + 1);
    let mut wrong = vec![];
    for (here, text) in sources.iter().filter(|(here, _)| below(here) && here.len() > parent.len()) {
        let (from, name) = place(&groups, own, here.get(parent.len()));
        if name.is_none() {
            continue;
        }
        for path in paths(text, here).into_iter().filter(|path| below(path)) {
            let (to, other) = place(&groups, own, path.get(parent.len()));
            if to > from || to == from && other != name {
                wrong.push(format!("{} uses crate::{}", here.join("::"), path.join("::")));
            }
        }
    }
    wrong
}

/// The engine's source. The tests run in the engine's package or in the package of its unit tests, a folder below.
fn root() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("src"));
    folders.find(|folder| folder.join("order.rs").exists()).expect("the engine's source")
}

/// The public fields of the structure `name` in `text`.
fn public_fields<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let body = text.split_once(&format!("struct {name} {{\n")).and_then(|(_, after)| after.split_once("\n}"));
    let (body, _) = body.unwrap_or_else(|| panic!("no structure {name}"));
    body.lines().map(str::trim).filter(|line| line.starts_with("pub")).collect()
}

#[test]
fn state_belongs_to_its_role() {
    let read = |file: &str| fs::read_to_string(root().join("fabric/input_queued").join(file)).expect("readable");
    let shared = public_fields(&read("partition.rs"), "Partition").len();
    assert_eq!(shared, SHARED_FIELDS, "fields that all stages may touch: give state to a role, then lower the number");
    for (file, name) in ROLES {
        assert_eq!(public_fields(&read(file), name), Vec::<&str>::new(), "{name} shows its fields");
    }
}

#[test]
fn no_module_uses_one_that_comes_after_it() {
    let root = root();
    let is_test = |file: &Path| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name == "tests.rs" || name == "order.rs" || file.iter().any(|part| part == "tests")
    };
    let sources: Vec<(Vec<String>, String)> = files(&root)
        .into_iter()
        .filter(|file| !is_test(file.strip_prefix(&root).expect("a source")))
        .map(|file| (module(&root, &file), fs::read_to_string(&file).expect("readable")))
        .collect();
    let ordered: Vec<&(Vec<String>, String)> =
        sources.iter().filter(|(_, text)| text.contains("stand in order")).collect();
    assert!(ordered.len() >= 2, "an order is stated in lib.rs and in fabric/mod.rs");
    let found = ordered.iter().flat_map(|(parent, declared)| upwards(parent, declared, &sources));
    let excepted: BTreeSet<String> = EXCEPTIONS
        .iter()
        .map(|(from, to)| format!("fabric::input_queued::{from} uses crate::fabric::input_queued::{to}"))
        .collect();
    let (known, wrong): (BTreeSet<String>, BTreeSet<String>) = found.partition(|found| excepted.contains(found));
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "these uses go upwards in the order of modules:\n{}", wrong.join("\n"));
    let gone: Vec<&String> = excepted.difference(&known).collect();
    assert!(gone.is_empty(), "these exceptions are no longer needed: {gone:?}");
}

#[test]
fn uses_that_go_upwards_are_found() {
    let declared =
        "//! Modules stand in order.\npub mod a;\npub mod b;\n\nmod c;\n\n#[cfg(test)]\nmod t;\nuse c::Thing;\n";
    let check = |at: &str, text: &str| {
        let here: Vec<String> = at.split("::").map(str::to_owned).collect();
        upwards(&[], declared, &[(here, text.to_owned())])
    };
    assert_eq!(check("c", "use crate::a::X;\nuse crate::{b, c::Y};"), Vec::<String>::new());
    assert_eq!(check("a", "use crate::c::X;"), ["a uses crate::c::X"]);
    assert_eq!(
        check("a::deep", "use super::super::{a, c::{self, X}};"),
        ["a::deep uses crate::c", "a::deep uses crate::c::X"]
    );
    assert_eq!(check("a", "fn f() { crate::b::g() }"), ["a uses crate::b::g"]);
    assert_eq!(check("a::deep", "use super::b::X;"), Vec::<String>::new(), "that is a::b");
    assert_eq!(check("a", "// crate::c\n#[cfg(test)]\nmod tests {\n    use crate::c::X;\n}"), Vec::<String>::new());
}
