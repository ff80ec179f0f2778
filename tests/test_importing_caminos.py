"""CAMINOS' configurations as scenarios and experiments."""

import tomllib
from contextlib import suppress
from pathlib import Path

import phit
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit.document.completing import complete
from phit.document.experiment import Experiment
from phit.importing import read

CONFIGURATION = """Configuration
{
    random_seed: RANDOM_SEED, /* a comment
    of two lines */
    warmup: 100,
    measured: 400,
    topology: Mesh { sides: [4, 4], servers_per_router: 2 },
    traffic: HomogeneousTraffic // another
    {
        pattern: PATTERN,
        servers: 32, load: LOAD, message_size: SIZE,
    },
    maximum_packet_size: 16,
    router: InputOutput
    {
        virtual_channels: 2, virtual_channel_policies: [EnforceFlowControl, Random],
        crossbar_delay: 2, allocator: Islip { num_iter: 2 }, buffer_size: 64, flit_size: 16,
        bubble: true, output_buffer_size: 32,
    },
    routing: DOR { order: [0, 1], legend_name: "xy" },
    link_classes: [LinkClass { delay: 3 }, LinkClass { delay: 1 }, LinkClass { delay: 1 }],
    launch_configurations: [Slurm { time: "0-12:00:00" }],
}
"""

VALUES = {"RANDOM_SEED": "7", "PATTERN": "Uniform", "LOAD": "0.2", "SIZE": "16"}


def imported(folder: Path, text: str = CONFIGURATION, **values: str) -> phit.importing.Imported:
    for name, value in {**VALUES, **values}.items():
        text = text.replace(name, value)
    file = folder / "main.cfg"
    file.write_text(text, encoding="utf-8")
    return read("caminos", file)


BASIC = """    router: Basic
    {
        virtual_channels: 2, virtual_channel_policies: [EnforceFlowControl, Random],
        delay: 0, buffer_size: 64, flit_size: 16, bubble: false,
    },
"""


def test_a_basic_router_takes_no_time(tmp_path: Path) -> None:
    before, after = CONFIGURATION.index("    router:"), CONFIGURATION.index("    routing:")
    found = imported(tmp_path, CONFIGURATION[:before] + BASIC + CONFIGURATION[after:])
    assert found.document["router"]["latency"] == 0
    # A message of 16 phits takes 17 cycles between two servers of a router (CAMINOS' own test of this router says so),
    # and the 3 of the link more to the next router.
    for destination, cycles in ((1, 17), (2, 20)):
        traffic = {"trace": [[0, 0, destination, 16]], "packet_size": 16}
        document = found.document | {"traffic": traffic, "measure": {"warmup": 0, "cycles": 100, "count": "generated"}}
        assert phit.run(document).latency_mean == cycles


def test_the_main_part_is_read(tmp_path: Path) -> None:
    found = imported(tmp_path)
    document = found.document
    assert tomllib.loads(found.to_toml()) == document
    assert document["topology"] == {"kind": "mesh", "dims": [4, 4], "endpoints_per_router": 2}
    assert document["router"]["latency"] == 2
    assert document["router"]["allocator"] == {"kind": "islip", "iterations": 2}
    assert document["router"]["output_buffer"] == 64
    links = document["router"]["links"]
    assert [(name, link["latency"]) for name, link in links.items()] == [("endpoint", 0), ("dim0", 3), ("dim1", 1)]
    assert document["measure"] == {"warmup": 100, "cycles": 400}
    assert phit.run(document)["accepted_load"] == pytest.approx(0.2, rel=0.2)


def test_an_empty_network_has_caminos_latency(tmp_path: Path) -> None:
    # Two of its servers at one router, 16 phits: 1 cycle for each link, 2 in the crossbar, and the phits.
    pattern = "CartesianTransform { sides: [2, 4, 4], shift: [1, 0, 0] }"
    document = imported(tmp_path, PATTERN=pattern, LOAD="0.002").document
    assert document["traffic"]["pattern"]["kind"] == "by_endpoint"
    document["measure"] = {"warmup": 0, "cycles": 20_000}
    assert phit.run(document)["latency_p50"] == 1 + 2 + 16


def test_lists_of_experiments_become_a_sweep(tmp_path: Path) -> None:
    lists = {"RANDOM_SEED": "![1, 2, 3]", "LOAD": "a![0.1, 0.2]", "SIZE": "a![8, 16]"}
    document = imported(tmp_path, **lists, PATTERN="![Uniform, Uniform { allow_self: true }]").document
    assert document["sweep"] == {
        "seeds": [1, 2, 3],
        "product": {
            "traffic.pattern": [{"kind": "uniform", "include_self": own} for own in (False, True)],
        },
        "zip": [{"traffic.load": [0.1, 0.2], "traffic.packet_size": [8, 16]}],
    }
    assert len(Experiment.read(document).points()) == 3 * 2 * 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sides: [4, 4]", "sides: [4, 4], wrap: true", "wrap"),
        ("Mesh {", "SlimFly {", "SlimFly"),
        ("order: [0, 1]", "order: [1, 0]", "order"),
        ("delay: 3 }", "delay: 3, frequency_divisor: 1001 }", "frequency_divisor"),
        ("servers: 32", "servers: 31", "servers"),
        ("measured: 400", "measured: = 2", "expressions"),
        ("measured: 400,", "", "measured"),
        ("warmup: 100", "warmup 100", "expected"),
        ("[EnforceFlowControl, Random]", "[Random]", "EnforceFlowControl"),
    ],
)
def test_what_cannot_be_expressed_is_refused_by_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in CONFIGURATION
    with pytest.raises(phit.InputError, match=said) as error:
        imported(tmp_path, CONFIGURATION.replace(old, new))
    assert "main.cfg:" in str(error.value)


def test_lists_that_depend_on_one_another_are_refused(tmp_path: Path) -> None:
    text = CONFIGURATION.replace("sides: [4, 4]", "sides: ![[4, 4], [4, 8]]").replace(
        "servers: 32", "servers: ![32, 64]"
    )
    with pytest.raises(phit.InputError):
        imported(tmp_path, text)


@settings(max_examples=200)
@given(data=st.data())
def test_texts_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = CONFIGURATION
    for name, value in VALUES.items():
        text = text.replace(name, value)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        end = min(start + data.draw(st.integers(0, 12)), len(text))
        text = text[:start] + data.draw(st.text(alphabet='{}[],:![]=0.9-e"aD /*\n', max_size=6)) + text[end:]
    with suppress(phit.InputError, phit.ScenarioError):
        found = imported(tmp_path_factory.getbasetemp(), text)
        assert tomllib.loads(found.to_toml()) == found.document
        complete({key: value for key, value in found.document.items() if key != "sweep"})


def test_links_slower_than_a_phit_in_a_cycle(tmp_path: Path) -> None:
    text = CONFIGURATION.replace("bubble: true", "bubble: false").replace(
        "delay: 3 }", "delay: 3, frequency_divisor: 4 }"
    )
    found = imported(tmp_path, text)
    link = found.document["router"]["links"]["dim0"]
    assert (link["latency"], link["bandwidth"]) == (3, 0.25)
    assert found.document["router"]["crossbar_bandwidth"] == 1
    assert any("in cycles that 4 divides" in warning for warning in found.warnings)


TORUS = CONFIGURATION.replace("Mesh {", "Torus {")


def test_rings_keep_a_bubble(tmp_path: Path) -> None:
    found = imported(tmp_path, TORUS)
    assert found.document["routing"] == {"kind": "dimension_order", "rings": "bubble"}
    assert any("there, too, a packet that enters a ring needs room" in warning for warning in found.warnings)
    # Any channel, of whatever number, serves.
    single = imported(tmp_path, TORUS.replace("virtual_channels: 2", "virtual_channels: 1"))
    result = phit.run({**single.document, "traffic": {**single.document["traffic"], "load": 1.0}})
    assert 0.2 < result["accepted_load"] < 1
    assert phit.verify(single.document)["proved"]
    without = imported(tmp_path, TORUS.replace("bubble: true", "bubble: false"))
    assert without.document["routing"] == {"kind": "dimension_order"}
    # On a mesh there are none.
    mesh = imported(tmp_path)
    assert mesh.document["routing"] == {"kind": "dimension_order"}
    assert any("without rings" in warning for warning in mesh.warnings)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("flit_size: 16", "flit_size: 4", "flit_size.*expected 16"),
        ("buffer_size: 64, flit", "buffer_size: 31, flit", "buffer_size.*at least 32, two packets"),
        ("DOR { order: [0, 1] }", "Valiant { first: DOR { order: [0, 1] }, second: DOR { order: [0, 1] } }", "bubble"),
    ],
)
def test_bubbles_that_cannot_be_expressed_are_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = TORUS.replace(', legend_name: "xy" }', " }")
    assert old in text
    with pytest.raises(phit.InputError, match=said):
        imported(tmp_path, text.replace(old, new))


def test_a_basic_router_keeps_no_bubble(tmp_path: Path) -> None:
    before, after = TORUS.index("    router:"), TORUS.index("    routing:")
    with pytest.raises(phit.InputError, match="cannot be expressed in Basic"):
        imported(tmp_path, TORUS[:before] + BASIC.replace("bubble: false", "bubble: true") + TORUS[after:])
