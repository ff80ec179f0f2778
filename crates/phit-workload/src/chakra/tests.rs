use super::format::{Attribute, Bools, GlobalMetadata, Node, Value, Values};
use super::*;
use crate::accelerator::{Accelerator, AcceleratorParams};
use crate::host::HostParams;
use crate::network::Ideal;
use crate::plan::StoredPlan;
use crate::program::Program;
use crate::run::{Finish, run as execute};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use std::io::Write;
use std::sync::Arc;

fn node(id: u64, kind: i32, data: &[u64], attributes: &[(&str, Value)]) -> Node {
    let attribute = |(name, value): &(&str, Value)| Attribute { name: (*name).into(), value: Some(value.clone()) };
    Node {
        id,
        name: format!("n{id}"),
        kind,
        data: data.to_vec(),
        attributes: attributes.iter().map(attribute).collect(),
        ..Node::default()
    }
}

fn calc(id: u64, data: &[u64], micros: u64) -> Node {
    Node { duration_micros: micros, ..node(id, 4, data, &[]) }
}

fn collective(id: u64, data: &[u64], kind: i64, bytes: i64) -> Node {
    node(id, 7, data, &[("comm_type", Value::Int64(kind)), ("comm_size", Value::Int64(bytes))])
}

fn file(nodes: &[Node]) -> Vec<u8> {
    let mut bytes = GlobalMetadata { version: "0.0.4".into(), attributes: vec![] }.encode_length_delimited_to_vec();
    nodes.iter().for_each(|node| bytes.extend(node.encode_length_delimited_to_vec()));
    bytes
}

fn program(ranks: &[Vec<Node>], options: &Options) -> Result<Program, String> {
    let files: Vec<Vec<u8>> = ranks.iter().map(|nodes| file(nodes)).collect();
    let program = read(files.iter().map(|file| &file[..]), options).map_err(|error| error.to_string())?;
    program.check().unwrap();
    Ok(program)
}

const LATENCY: u64 = 500;

fn run(ranks: &[Vec<Node>], options: &Options) -> Finish {
    let plan = StoredPlan::new(Arc::new(program(ranks, options).unwrap()));
    let params = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: u64::MAX };
    execute(Box::new(plan), params, Ideal(|_, _| LATENCY))
}

#[test]
fn calculations_and_messages_follow_their_dependencies() {
    let peer =
        |name, rank| [(name, Value::Int32(rank)), ("comm_size", Value::Uint64(100)), ("comm_tag", Value::Uint32(7))];
    // The second calculation precedes the first one in the file.
    let sender = vec![calc(3, &[1], 2), calc(1, &[], 3), node(9, 5, &[3], &peer("comm_dst", 1))];
    let receiver = vec![node(1, 6, &[], &peer("comm_src", 0)), calc(2, &[1], 1)];
    let finish = run(&[sender, receiver], &Options::default());
    assert!(finish.left.is_empty());
    assert_eq!(finish.ranks, [5000, 5000 + LATENCY + 1000]);
}

#[test]
fn calculations_of_host_and_accelerator_overlap() {
    let on_host = |id| {
        let mut node = calc(id, &[], 4);
        node.attributes.push(Attribute { name: "is_cpu_op".into(), value: Some(Value::Bool(true)) });
        node
    };
    let finish = run(&[vec![calc(1, &[], 4), calc(2, &[], 4), on_host(3), on_host(4)]], &Options::default());
    assert_eq!(finish.ranks, [8000]);
}

#[test]
fn a_roofline_bounds_by_operations_or_by_bytes() {
    let work = |id, data: &[u64], operations, bytes| {
        node(id, 4, data, &[("num_ops", Value::Int64(operations)), ("tensor_size", Value::Uint64(bytes))])
    };
    let options = Options { compute: Compute::Roofline { peak: 8.0, bandwidth: 2.0 }, ..Options::default() };
    // 1,000 operations at 8 a nanosecond; then 1,000 on 4,000 bytes at 2 a nanosecond.
    let finish = run(&[vec![work(1, &[], 1000, 100), work(2, &[1], 1000, 4000)]], &options);
    assert_eq!(finish.ranks, [125 + 2000]);
    // A named accelerator has its published rates, here a quarter of 125,000 operations a nanosecond, and 900 bytes.
    let v100 =
        AcceleratorParams { name: Some(Accelerator::V100), efficiency: Some(0.25), ..AcceleratorParams::default() };
    let options = Options { compute: Compute::Accelerator(v100), ..Options::default() };
    let finish = run(&[vec![work(1, &[], 3_125_000, 100), work(2, &[1], 1000, 90_000)]], &options);
    assert_eq!(finish.ranks, [100 + 100]);
    let none = Options { compute: Compute::Accelerator(AcceleratorParams::default()), ..Options::default() };
    let error = none.check().unwrap_err();
    assert_eq!(error.key, Some("compute.accelerator.peak"));
    assert_eq!(error.message, "compute.accelerator.peak: required without `accelerator.name`");
}

#[test]
fn collectives_meet_by_their_place_in_their_group() {
    let all_reduce = 0;
    let ranks: Vec<Vec<Node>> = (0..4)
        .map(|rank| {
            vec![calc(1, &[], rank), collective(2, &[1], all_reduce, 4096), collective(5, &[2], all_reduce, 64)]
        })
        .collect();
    let finish = run(&ranks, &Options::default());
    assert!(finish.left.is_empty());
    // Rank 3 is the last to begin. A ring of 4 takes 6 steps, each at least a latency.
    assert!(finish.ranks.iter().all(|time| *time >= 3000 && *time <= 3000 + 12 * LATENCY), "{:?}", finish.ranks);
    // Two groups by name, one of them defined by the trace itself.
    let grouped = |name: &str| {
        let mut node = collective(2, &[], all_reduce, 4096);
        node.attributes.push(Attribute { name: "pg_name".into(), value: Some(Value::String(name.into())) });
        node
    };
    let define = |text: &str| Node { inputs: Some(Values { values: text.into() }), ..node(1, 1, &[], &[]) };
    let text = r#"["[{"pg_name": "7", "ranks": [0, 2]}]"]"#;
    let options = Options { groups: [("8".to_string(), vec![1, 3])].into(), ..Options::default() };
    let ranks: Vec<Vec<Node>> = ["7", "8", "7", "8"].map(|name| vec![define(text), grouped(name)]).into();
    let finish = run(&ranks, &options);
    assert_eq!(finish.ranks, [2 * LATENCY; 4]);
}

/// PyTorch traces the call that launches a collective, too. The call takes time on the host, and is not a collective.
#[test]
fn calls_that_launch_collectives_take_their_time() {
    let mut launch = Node { duration_micros: 7, ..node(1, 7, &[], &[("is_cpu_op", Value::Bool(true))]) };
    let ranks = |launch: &Node| -> Vec<Vec<Node>> {
        let all = || vec![launch.clone(), collective(2, &[1], 0, 4096)];
        vec![all(), all()]
    };
    assert_eq!(run(&ranks(&launch), &Options::default()).ranks, [7000 + 2 * LATENCY; 2]);
    launch.attributes.clear();
    assert_eq!(
        program(&ranks(&launch), &Options::default()).unwrap_err(),
        "byte 8, rank 0: node 1 (collective \"n1\"): has no comm_type"
    );
}

#[test]
fn dependencies_on_control_count_if_asked_for() {
    let mut second = calc(2, &[], 5);
    second.control = vec![1];
    second.attributes.push(Attribute { name: "is_cpu_op".into(), value: Some(Value::Bool(true)) });
    let ranks = [vec![calc(1, &[], 3), second]];
    assert_eq!(run(&ranks, &Options::default()).ranks, [5000]);
    let both = Options { dependencies: Dependencies::DataAndControl, ..Options::default() };
    assert_eq!(run(&ranks, &both).ranks, [8000]);
}

/// The form of Chakra's converter: numbers of 64 bits as texts, types by name, and zeros left out.
#[test]
fn json_says_the_same() {
    let peer = |name, rank| [(name, Value::Int32(rank)), ("comm_size", Value::Uint64(100))];
    let binary = vec![calc(3, &[1], 2), calc(1, &[], 3), node(9, 5, &[3], &peer("comm_dst", 0))];
    let text = r#"{
  "version": "0.0.4"
}{
  "id": "3", "name": "n3", "type": "COMP_NODE", "dataDeps": ["1"], "durationMicros": "2"
}{"id": "1", "name": "n1", "type": 4, "durationMicros": 3, "outputs": {"values": "x"}}{
  "id": "9", "name": "n9", "type": "COMM_SEND_NODE", "dataDeps": ["3"],
  "attr": [{"name": "comm_dst", "int32Val": 0}, {"name": "comm_size", "uint64Val": "100"},
           {"name": "involved_dim", "boolList": {"values": [true]}}, {"name": "x", "int64List": {}}]
}
"#;
    let json = |text: &str| read([text.as_bytes()], &Options::default());
    assert_eq!(json(text).unwrap(), program(&[binary], &Options::default()).unwrap());
    for (from, to, line, message) in [
        ("COMP_NODE", "COMPUTE", 3, "message 1: type \"COMPUTE\": expected one of INVALID_NODE,"),
        ("dataDeps", "dataDps", 4, "message 1: no Chakra message (unknown field `dataDps`"),
        ("\"3\", \"name\"", "\"x\", \"name\"", 3, "message 1: \"x\": expected a whole number of 0 or more"),
        (
            "int32Val",
            "int32Value",
            5,
            "message 3: attribute \"comm_dst\": has a value \"int32Value\" that is not known",
        ),
        ("}]\n}\n", "", 8, "message 3: no JSON"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = json(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("line {line}, rank 0: {message}")), "{error}");
    }
}

#[test]
fn compressed_files_are_read() {
    let mut zipped = GzEncoder::new(vec![], Compression::fast());
    zipped.write_all(&file(&[calc(1, &[], 3)])).unwrap();
    let program = read([&zipped.finish().unwrap()[..]], &Options::default()).unwrap();
    assert_eq!(program.operations(), 1);
}

#[test]
fn what_cannot_be_executed_is_named() {
    let error = |ranks: &[Vec<Node>]| program(ranks, &Options::default()).unwrap_err();
    assert_eq!(
        error(&[vec![], vec![calc(1, &[99], 1)]]),
        "byte 8, rank 1: node 1 (computation \"n1\"): waits for node 99, which is missing"
    );
    assert_eq!(
        error(&[vec![calc(1, &[1], 1)]]),
        "byte 8, rank 0: node 1 (computation \"n1\"): waits for itself, by way of others"
    );
    assert_eq!(error(&[vec![calc(1, &[], 1), calc(1, &[], 1)]]), "byte 19, rank 0: two nodes have the id 1");
    assert_eq!(error(&[vec![node(1, 5, &[], &[])]]), "byte 8, rank 0: node 1 (send \"n1\"): has no comm_dst");
    let to = |rank| vec![node(1, 5, &[], &[("comm_dst", Value::Int32(rank)), ("comm_size", Value::Int64(1))])];
    assert_eq!(error(&[to(1)]), "byte 8, rank 0: node 1 (send \"n1\"): comm_dst = 1, expected 0 to 0");
    assert_eq!(error(&[to(-1)]), "byte 8, rank 0: node 1 (send \"n1\"): comm_dst is no whole number of 0 or more");
    assert_eq!(
        error(&[vec![node(1, 8, &[], &[])]]),
        "byte 8, rank 0: node 1 (node \"n1\"): is of type 8, expected 0 to 7"
    );
    assert_eq!(
        error(&[vec![node(1, 2, &[], &[])]]),
        "byte 8, rank 0: node 1 (memory load \"n1\"): needs the times of a memory"
    );
    assert_eq!(
        error(&[vec![collective(1, &[], 10, 8)]]),
        "byte 8, rank 0: node 1 (collective \"n1\"): comm_type = 10, expected 0 to 9"
    );
    assert_eq!(
        error(&[vec![collective(1, &[], 0, 8)], vec![]]),
        "byte 8, rank 0: node 1 (collective \"n1\"): rank 1 of all ranks never comes to it"
    );
    assert_eq!(
        error(&[vec![collective(1, &[], 0, 8)], vec![collective(4, &[], 2, 8)]]),
        "byte 8, rank 1: node 4 (collective \"n4\"): is all_gather of 8 bytes, and for rank 0 it is all_reduce of 8 \
         bytes"
    );
    let read = |bytes: &[u8]| read([bytes], &Options::default()).unwrap_err().to_string();
    assert_eq!(read(b""), "rank 0: the file is empty");
    assert_eq!(read(b"\x05ab"), "byte 0, rank 0: message 0: it has 5 bytes, and the file 2 of them");
    assert!(read(b"\xff\xff\xff\xff\xff\xff").starts_with("byte 0, rank 0: message 0: no length stands before it"));
}

#[test]
fn no_file_leads_to_a_panic() {
    let bools = Value::Bools(Bools { values: vec![true, false] });
    let bytes = file(&[calc(1, &[], 3), node(2, 7, &[1], &[("comm_type", Value::Int32(0)), ("involved_dim", bools)])]);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let _ = read([&changed[..]], &Options::default());
        }
        let _ = read([&bytes[..at]], &Options::default());
    }
}

/// The form that the feeder reads: one table, whose nodes have attributes beside all other keys.
#[test]
fn the_feeders_json_says_the_same() {
    let binary = vec![
        Node { name: "work".into(), ..calc(1, &[], 250) },
        node(2, 5, &[1], &[("comm_size", Value::Uint64(4096)), ("comm_dst", Value::Uint64(0))]),
    ];
    let text = r#"{"workload_graph": [
        {"Id": 2, "Name": "n2", "NodeType": 5, "data_deps": [1], "comm_size": 4096, "comm_dst": 0,
         "involved_dims": [true]},
        {"Id": 1, "Name": "work", "NodeType": 4, "ctrlDeps": [7], "runtime": 250, "outputs": "x"}]}"#;
    let json = |text: &str| read([text.as_bytes()], &Options::default());
    assert_eq!(json(text).unwrap(), program(&[binary], &Options::default()).unwrap());
    for (from, to, line, message) in [
        (
            "\"data_deps\"",
            "\"datadep\"",
            2,
            "workload_graph[0]: has the key \"datadep\"; expected data_deps or ctrl_deps",
        ),
        ("\"Id\": 2, ", "", 2, "workload_graph[0]: has no Id"),
        ("250", "2.5", 4, "workload_graph[1]: runtime = 2.5: expected a whole number of 0 or more"),
        ("\"NodeType\": 4", "\"NodeType\": \"X\"", 4, "workload_graph[1]: type \"X\": expected one of INVALID_NODE"),
        ("}]}", "}]} {}", 4, "message 1: expected nothing after the table with `workload_graph`"),
        ("\"x\"}]}", "\"x\"}", 4, "message 0: no JSON"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = json(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("line {line}, rank 0: {message}")), "{error}");
    }
}

#[test]
fn other_json_is_no_empty_program() {
    let json = |text: &str| read([text.as_bytes()], &Options::default()).map(|program| program.operations());
    let error = |text: &str| json(text).unwrap_err().to_string();
    assert!(error(r#"{"anything": [1, 2, 3]}"#).contains("message 0: has the key \"anything\"; expected what chakra_"));
    assert!(error(r#"[{"id": 1}]"#).contains("message 0: is no table; expected what chakra_jsonizer prints"));
    assert!(error(r#"{"schema": "1.1.0", "nodes": []}"#).contains("is an execution trace of PyTorch"));
    assert!(error(r#"{"traceEvents": []}"#).contains("is a trace of PyTorch's profiler"));
    assert!(error(r#"{"workload_graph": {}}"#).contains("workload_graph: expected a list of nodes"));
    // The first message is a node if the metadata was left out.
    assert_eq!(json(r#"{"id": 1, "type": 4, "durationMicros": 3}{"id": 2, "type": 4}"#).unwrap(), 2);
}

/// Messages of other schemas have fields that the decoder would skip.
#[test]
fn other_messages_are_no_empty_program() {
    let error = |bytes: &[u8]| read([bytes], &Options::default()).unwrap_err().to_string();
    // Field 3 is a number: a node instead of the metadata.
    assert_eq!(error(b"\x02\x18\x04"), "byte 0, rank 0: message 0: is not metadata of a trace, which has no field 3");
    assert_eq!(error(b"\x00\x02\x58\x01"), "byte 1, rank 0: message 1: is not a node, which has no field 11");
}

fn on_stream(id: u64, stream: i64, start: u64, data: &[u64], kind: i32) -> Node {
    Node { start_micros: start, duration_micros: 10, ..node(id, kind, data, &[("stream", Value::Int64(stream))]) }
}

/// A collective on the stream of a calculation, without a dependency: it goes first unless streams are in order.
#[test]
fn operations_of_a_stream_go_one_after_another_if_asked_for() {
    let ranks: Vec<Vec<Node>> = (0..2)
        .map(|_| {
            let mut meet = on_stream(2, 7, 30, &[], 7);
            meet.attributes.extend(collective(0, &[], 0, 4096).attributes);
            vec![on_stream(1, 7, 20, &[], 4), meet]
        })
        .collect();
    assert_eq!(run(&ranks, &Options::default()).ranks, [10_000; 2]);
    let in_order = Options { streams: Streams::InOrder, ..Options::default() };
    assert_eq!(run(&ranks, &in_order).ranks, [10_000 + 2 * LATENCY; 2]);
    // By time: node 9 before node 1, which are added after node 3. Other streams and the host's operations are not
    // affected.
    let mut first = on_stream(9, 7, 5, &[], 4);
    let program_of = |nodes: &[Node], options: &Options| program(&[nodes.to_vec()], options).unwrap();
    let edges = |nodes: &[Node]| program_of(nodes, &in_order).dependencies();
    let own = [on_stream(1, 7, 20, &[], 4), first.clone(), on_stream(3, 8, 6, &[], 4)];
    assert_eq!(edges(&own), 1);
    assert_eq!(
        program_of(&own, &in_order).rank(0).dependencies().next().map(|(before, after, _)| (before, after)),
        Some((1, 2))
    );
    first.attributes.push(Attribute { name: "is_cpu_op".into(), value: Some(Value::Bool(true)) });
    assert_eq!(edges(&[own[0].clone(), first, own[2].clone()]), 0);
}

#[test]
fn streams_without_order_are_noted() {
    let notes = |nodes: &[Node], options: &Options| {
        super::build::noted(&mut [Ok(&file(nodes)[..])].into_iter(), options).unwrap()
    };
    let loose = [on_stream(1, 7, 1, &[], 4), on_stream(2, 7, 2, &[], 4), on_stream(3, 7, 3, &[2], 4)];
    let said = notes(&loose, &Options::default());
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("do not wait for the one before on their stream: 1, on ranks: 1 (first: "), "{said:?}");
    assert!(said[0].contains("rank 0, node 2 (computation \"n2\") after node 1 (computation \"n1\")"), "{said:?}");
    assert!(notes(&loose, &Options { streams: Streams::InOrder, ..Options::default() }).is_empty());
    // In order through the host's node 4, and through another stream.
    let by_way = [loose[0].clone(), calc(4, &[1], 1), on_stream(2, 7, 2, &[4], 4), on_stream(3, 9, 1, &[], 4)];
    assert!(notes(&by_way, &Options::default()).is_empty());
}

/// The place of a node in a text that begins with blank lines, is indented, or has several nodes on a line; and in a
/// list whose nodes stand on lines of their own.
#[test]
fn errors_name_the_line_of_a_node() {
    let line = |text: &str| read([text.as_bytes()], &Options::default()).unwrap_err().line;
    let sound = r#"{"id": "1", "type": 4}"#;
    let wrong = "{\n\"id\": \"2\",\n\"type\": 9}";
    assert_eq!(line(&format!("\n\n{sound}\n\n {wrong}\n{sound}")), Some(5));
    assert_eq!(line(&format!("{sound}{wrong}")), Some(1));
    let missing = r#"{"id": "3", "type": 4, "dataDeps": ["8"]}"#;
    assert_eq!(line(&format!("{sound}\n{missing}\n")), Some(2));
    let fed = |id, kind| format!("{{\n\"Id\": {id},\n\"NodeType\": {kind}}}");
    assert_eq!(line(&format!("{{\"workload_graph\": [\n{},\n\n{},\n{}]}}", fed(1, 4), fed(2, 9), fed(3, 4))), Some(6));
    assert_eq!(line(&format!("{{\"workload_graph\": [\n{},\n{}\n,5]}}", fed(1, 4), fed(2, 4))), Some(8));
    assert_eq!(line(&format!("{{\"workload_graph\":\n[{},{}]}}", fed(1, 4), fed(1, 4))), Some(4));
}

/// Nodes in any order of their ids, with more dependencies than one, become the same program up to the order of
/// operations with one id before another.
#[test]
fn the_order_of_nodes_in_a_file_does_not_matter() {
    let sorted: Vec<Node> = (1..40)
        .map(|id| calc(id, &[id / 2, id / 3, id / 3].map(|id| id.max(1))[..if id < 2 { 0 } else { 3 }], id))
        .collect();
    let mut mixed = sorted.clone();
    mixed.sort_by_key(|node| node.id * 17 % 41);
    let of = |nodes: &[Node]| program(&[nodes.to_vec()], &Options::default()).unwrap();
    assert_eq!(of(&sorted), of(&mixed));
    assert_eq!(of(&sorted).operations(), 39);
}
