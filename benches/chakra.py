"""Time and memory to read a large Chakra trace, in its three forms.

The trace is that of one GPU, as PyTorch's converter writes it: for each operation a call on the host and a kernel on a
stream, every eighth of them an all-reduce, with names, start times and attributes. Each form is written to a temporary
folder and read by `phit.workload.info` in a process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FORMS = ("et", "json", "feeder")
"""Protobuf messages, what `chakra_jsonizer` prints, and the table that Chakra's feeder reads."""

TYPES = {4: "COMP_NODE", 7: "COMM_COLL_NODE"}

COUNTED: dict[str, tuple[str, int]] = {"int64": ("int64Val", 9), "bool": ("boolVal", 27), "string": ("stringVal", 29)}
"""Key and field of each type of attribute."""


def nodes() -> Iterator[dict[str, Any]]:
    """Nodes without end: id, name, type, data dependencies, times and typed attributes."""
    number = 0
    while True:
        launch, kernel = 2 * number + 1, 2 * number + 2
        meets = number % 8 == 7
        host = {"is_cpu_op": ("bool", True), "rf_id": ("int64", number), "fw_parent": ("int64", 0)}
        yield {
            "id": launch,
            "name": f"aten::op_{number % 211}",
            "type": 4,
            "deps": [launch - 2] if number else [],
            "start": 10 * number + 1,
            "duration": 5,
            "attributes": {**host, "op_schema": ("string", "aten::op(Tensor self, Tensor other) -> Tensor(a!)")},
        }
        own = {"comm_type": ("int64", 0), "comm_size": ("int64", 1 << 20)} if meets else {}
        yield {
            "id": kernel,
            "name": f"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_{number % 211}>",
            "type": 7 if meets else 4,
            "deps": [launch, kernel - 2] if number else [launch],
            "start": 10 * number + 5,
            "duration": 9,
            "attributes": {"is_cpu_op": ("bool", False), "stream": ("int64", 7 + number % 3), **own},
        }
        number += 1


def varint(value: int) -> bytes:
    """A number in base 128."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes) -> bytes:
    """A field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(node: dict[str, Any]) -> bytes:
    """A node as a protobuf message, preceded by its length."""
    parts = [field(1, node["id"]), field(2, node["name"].encode()), field(3, node["type"])]
    if node["deps"]:
        parts.append(field(5, b"".join(map(varint, node["deps"]))))
    parts += [field(6, node["start"]), field(7, node["duration"])]
    for name, (kind, value) in node["attributes"].items():
        text = value.encode() if isinstance(value, str) else int(value)
        parts.append(field(10, field(1, name.encode()) + field(COUNTED[kind][1], text)))
    body = b"".join(parts)
    return varint(len(body)) + body


def jsonized(node: dict[str, Any]) -> bytes:
    """A node as `chakra_jsonizer` prints it."""
    numbered = {"id": str(node["id"]), "name": node["name"], "type": TYPES[node["type"]]}
    times = {"startTimeMicros": str(node["start"]), "durationMicros": str(node["duration"])}
    attributes = [
        {"name": name, COUNTED[kind][0]: str(value) if kind == "int64" else value}
        for name, (kind, value) in node["attributes"].items()
    ]
    table = {**numbered, "dataDeps": [str(id_) for id_ in node["deps"]], **times, "attr": attributes}
    return json.dumps(table, indent=2).encode() + b"\n"


def fed(node: dict[str, Any]) -> bytes:
    """A node as the feeder reads it."""
    own = {"Id": node["id"], "Name": node["name"], "NodeType": node["type"], "data_deps": node["deps"]}
    times = {"start_time_micros": node["start"], "runtime": node["duration"]}
    return json.dumps({**own, **times, **{name: value for name, (_, value) in node["attributes"].items()}}).encode()


def write(path: Path, form: str, size: int) -> None:
    """A trace of `size` bytes or a little more."""
    start, between, end = {
        "et": (message_of_version(), b"", b""),
        "json": (b'{"version": "0.0.4"}\n', b"", b""),
        "feeder": (b'{"workload_graph": [\n', b",\n", b"\n]}\n"),
    }[form]
    encode = {"et": message, "json": jsonized, "feeder": fed}[form]
    with path.open("wb") as file:
        written = file.write(start)
        for number, node in enumerate(nodes()):
            written += file.write((between if number else b"") + encode(node))
            # A kernel follows every call.
            if written >= size and number % 2:
                break
        file.write(end)


def message_of_version() -> bytes:
    """The first message of a protobuf trace."""
    body = field(1, b"0.0.4")
    return varint(len(body)) + body


def read(path: Path) -> None:
    """Prints operations, CPU seconds and bytes of this process before and at its peak."""
    from phit import workload

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    began = time.process_time()
    operations = workload.info(path)["operations"]
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps([operations, seconds, before, peak]))


def main() -> None:
    """Prints a row for each form and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("megabytes", type=float, nargs="*", default=[50, 200], help="sizes of the traces")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read(given.read)
        return
    print(
        "| form | MB | operations | CPU seconds | peak MB | bytes an operation |\n| --- | --- | --- | --- | --- | --- |"
    )
    for form in FORMS:
        for size in given.megabytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / ("trace.0.et" if form == "et" else "trace.0.json")
                write(path, form, int(size * 1e6))
                command = [sys.executable, __file__, "--read", str(path)]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            operations, seconds, before, peak = json.loads(output)
            row = (form, f"{size:g}", f"{operations:,}", f"{seconds:.1f}", f"{peak / 1e6:.0f}")
            print(f"| {' | '.join(row)} | {(peak - before) / operations:.0f} |", flush=True)


if __name__ == "__main__":
    main()
