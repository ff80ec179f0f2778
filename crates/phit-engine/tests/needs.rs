//! The memory that a run is expected to need, before it is built, equals the memory that it takes. Bytes are counted at
//! the allocator.

#[path = "common/mod.rs"]
mod common;

use common::{scenario, with};
use phit_engine::run::{Options, Simulation, needs};
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with a count of the bytes in use and of their maximum.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn held(more: usize) {
    let now = HELD.fetch_add(more, Ordering::Relaxed) + more;
    MOST.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: blocks are the system's, which keeps the contract; counting allocates nothing and cannot panic.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the contract of `GlobalAlloc::alloc` is the contract of the system's allocator.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        held(layout.size());
        // SAFETY: the layout is the caller's, who promises that its size is not zero.
        unsafe { System.alloc(layout) }
    }
    // SAFETY: as `alloc`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        held(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }
    // SAFETY: the block came from `alloc` or `alloc_zeroed`, so from the system, with this layout.
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller returns a block of the system's allocator, once, with its layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A network of each kind, large enough that the fixed memory of a run does not matter.
fn networks() -> Vec<(&'static str, Value)> {
    let base = json!({
        "router": { "links": { "default": { "latency": 10, "vcs": 6, "buffer": 32 } } },
        "traffic": { "load": 0.2, "packet_size": 8 },
        "measure": { "warmup": 150, "cycles": 150 },
    });
    let of = |topology: Value| with(base.clone(), json!({ "topology": topology }));
    let dragonfly = json!({ "kind": "dragonfly", "p": 4, "a": 8, "h": 4 });
    let long = json!({ "router": { "links": {
        "local": { "latency": 10, "vcs": 4, "buffer": 32 }, "global": { "latency": 100, "vcs": 2, "buffer": 256 },
    } } });
    vec![
        ("dragonfly", of(dragonfly.clone())),
        ("dragonfly, long links", with(of(dragonfly.clone()), long)),
        ("dragonfly, piggyback", with(of(dragonfly.clone()), json!({ "routing": "piggyback" }))),
        ("dragonfly, olm", with(of(dragonfly.clone()), json!({ "routing": "olm" }))),
        ("dragonfly, ectn", with(of(dragonfly), json!({ "routing": "ectn" }))),
        ("torus", of(json!({ "kind": "torus", "dims": [12, 12, 12] }))),
        (
            "torus, packet-level nodes",
            with(
                of(json!({ "kind": "torus", "dims": [12, 12, 12] })),
                json!({
                    "router": { "node": { "answer": 1 }, "links": { "default": { "vcs": 3 } } }, "routing": "abr",
                }),
            ),
        ),
        (
            "torus, wormhole",
            with(
                of(json!({ "kind": "torus", "dims": [10, 10, 10] })),
                json!({
                    "router": { "switching": "wormhole", "vc_allocation": "stage" },
                }),
            ),
        ),
        ("mesh", of(json!({ "kind": "mesh", "dims": [20, 20], "endpoints_per_router": 4 }))),
        (
            "mesh, classes of packets",
            with(
                of(json!({ "kind": "mesh", "dims": [20, 20], "endpoints_per_router": 4 })),
                json!({ "traffic": { "classes": [{ "weight": 2 }, { "packet_size": 2 }, { "weight": 0.5 }, {}] } }),
            ),
        ),
        ("hyperx", of(json!({ "kind": "hyperx", "dims": [10, 10], "endpoints_per_router": 8 }))),
        (
            "hyperx, ugal",
            with(
                of(json!({ "kind": "hyperx", "dims": [10, 10], "endpoints_per_router": 8 })),
                json!({
                    "routing": "ugal_l",
                }),
            ),
        ),
        ("clos", of(json!({ "kind": "clos", "down": [8, 8, 8], "up": [8, 8] }))),
        ("k_ary_n_tree", of(json!({ "kind": "k_ary_n_tree", "arity": 8, "levels": 3 }))),
        (
            "k_ary_n_tree, tables",
            with(
                of(json!({ "kind": "k_ary_n_tree", "arity": 8, "levels": 3 })),
                json!({
                    "routing": "table",
                }),
            ),
        ),
        (
            "k_ary_n_tree, dbbm",
            with(
                of(json!({ "kind": "k_ary_n_tree", "arity": 8, "levels": 3 })),
                json!({
                    "queueing": { "kind": "dbbm", "queues": 2 },
                    "router": { "links": { "endpoint": { "vcs": 1, "buffer": 32 } } },
                }),
            ),
        ),
        (
            "k_ary_n_tree, queues for each destination",
            with(
                of(json!({ "kind": "k_ary_n_tree", "arity": 8, "levels": 3 })),
                json!({ "router": { "admittance": "per_destination" } }),
            ),
        ),
        ("multistage", of(json!({ "kind": "multistage", "arity": 4, "stages": 5 }))),
        ("cascade", of(json!({ "kind": "cascade", "rows": 6, "columns": 16, "endpoints_per_router": 8 }))),
        ("slim_fly", of(json!({ "kind": "slim_fly", "q": 13 }))),
        ("polarfly", of(json!({ "kind": "polarfly", "q": 13 }))),
        ("jellyfish", of(json!({ "kind": "jellyfish", "routers": 400, "links": 8, "endpoints_per_router": 4 }))),
        ("dragonfly_plus", of(json!({ "kind": "dragonfly_plus", "leaves": 8, "spines": 8 }))),
        ("program, all at once", program(json!({ "collective": "all_to_all", "algorithm": "direct", "bytes": 2000 }))),
        (
            "program, in many chunks",
            program(
                json!({ "collective": "all_reduce", "algorithm": "recursive_doubling", "bytes": 4000, "chunks": 100 }),
            ),
        ),
    ]
}

/// A collective on 256 endpoints.
fn program(collective: Value) -> Value {
    json!({
        "units": { "phit": "8 B" },
        "topology": { "kind": "mesh", "dims": [4], "endpoints_per_router": 64 },
        "workload": with(json!({ "kind": "collective" }), collective),
    })
}

#[test]
fn needs_are_what_is_used() {
    let mut found = Vec::new();
    for (name, value) in networks() {
        let scenario = scenario(&value);
        let said = needs(&scenario).unwrap_or_else(|error| panic!("{name}: {error}"));
        let before = HELD.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let simulation =
            Simulation::new(&scenario, Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let outcome = simulation.run(&mut |_, _| true).unwrap_or_else(|error| panic!("{name}: {error}"));
        let used = (MOST.load(Ordering::Relaxed) - before) as f64;
        drop(outcome);
        let parts: Vec<String> = said.parts.iter().map(|(what, bytes)| format!("{what} {:.0}k", bytes / 1e3)).collect();
        // The fixed memory of a process does not come from this allocator.
        let heap = said.bytes() - said.parts["anything"];
        found.push((name, heap / used, format!("{:.0}k: {}", used / 1e3, parts.join(", "))));
    }
    for (name, ratio, parts) in &found {
        println!("{name}: {ratio:.3} of {parts}");
    }
    let off: Vec<_> = found.iter().filter(|(_, ratio, _)| !(0.75..=1.25).contains(ratio)).collect();
    assert!(off.is_empty(), "{off:#?}");
}
