"""The study: its tables and figures and what they consist of."""

from phit.markdown import markdown_table, toml_line
from phit.studies.kit.study import Paper, Study
from phit.studies.outflank import beyond, cases, drawing, evidence, model, text
from phit.studies.outflank.claims import CLAIMS
from phit.studies.outflank.evidence import CUT, SHARE, Evidence
from phit.studies.outflank.remarks import REMARKS
from phit.studies.outflank.setting import Setting, setting
from phit.studies.unported import Figure, adopt

FIGURES = (
    Figure(
        "table2",
        "Table 2: maximum sustained throughput",
        "All runs of the author's reading: five patterns, three routings, every size, loads in steps of 0.05.",
        cases.throughput,
        evidence.lifetimes,
        drawing.none,
        text=text.throughput,
        is_table=True,
    ),
    Figure(
        "table3",
        "Table 3: derouted packets",
        "Shares of derouted packets at low load.",
        cases.derouted,
        evidence.lifetimes,
        drawing.none,
        text=text.derouted,
        is_table=True,
    ),
    Figure(
        "4",
        "Mean packet lifetime",
        "Mean packet lifetime against offered load on the largest network.",
        cases.lifetimes,
        evidence.lifetimes,
        drawing.lifetimes,
    ),
    Figure(
        "5",
        "Derouted packets over the load",
        "Shares of derouted packets against offered load, Butterfly/FFT on the largest network.",
        cases.butterfly,
        evidence.lifetimes,
        drawing.derouted,
    ),
    Figure(
        "steady",
        "The reading of the paper",
        "Steady states around the paper's gamma* with what the text says: credits, four OIDNs for collinear pairs, the "
        "profit as printed, a random direction for half a ring.",
        cases.steady,
        evidence.lifetimes,
        drawing.throughput("steady", "Throughput with credits"),
        text=text.delivery,
    ),
    Figure(
        "divergence",
        "Long runs",
        "The author's node under the Butterfly, three times as many messages: the loads that are sustained for good. "
        "Table 2 is about lifetimes: under ABR the slowest messages, half a ring away, take longer than the time to "
        "the next message, and their lifetimes grow at loads that are delivered in full. No routing can carry more "
        "than 0.8 at k = 8 and 1.2 at k = 16: an endpoint sends its next packet when the one before is answered.",
        cases.divergence,
        evidence.lifetimes,
        drawing.none,
        text=text.divergence,
    ),
    Figure(
        "acceptance",
        "Answers and credits",
        "The same links, queues and routing rules with ACK/NAK answers and with credits in the packet-level node, and "
        "with credits in the input-queued router; single packets at random times. Lifetimes count from generation: in "
        "the node an endpoint sends its next packet when the answer to the one before, or its credit, is there, 225 ns "
        "later, which makes it an M/D/1 queue of that service time; in the router it sends one in 64 ns.",
        cases.acceptance,
        evidence.lifetimes,
        drawing.none,
        text=text.acceptance,
    ),
    Figure(
        "credits",
        "The author's node with credits",
        "Low load, the paper's gamma*, and the step above it: lifetimes in the author's node, in which a packet is "
        "refused and sent again where there is no room, and in the same node with credits, in which it waits.",
        cases.credited,
        evidence.lifetimes,
        drawing.none,
        text=text.credited,
    ),
    Figure(
        "text",
        "The rules of the text in the author's node",
        "Derouted shares and lifetimes at low load with the routing rules as the text has them, in the author's node. "
        "Why so few packets are derouted by them: in equation (15) with eta = 2 the minimal way is worth 2 or more, "
        "however full its queues, and a way of d' hops instead of d at most 1 + 2 d/d'. That is more only if d' < 2 d, "
        "and an OIDN's way is at least 4 hops longer, so that at distances of 4 hops and less, all of the Butterfly's "
        "at k = 8, it is never taken. In the author's simulator a way whose queues are full is worth nothing "
        "(`full_way`); without this one choice no packet of the Butterfly is derouted there either. Under uniform "
        "traffic `mean` decides: half of the derouted packets are due to it.",
        cases.text,
        evidence.lifetimes,
        drawing.none,
        text=text.rules,
    ),
    Figure(
        "sensitivity",
        "Sensitivity to eta and Delta",
        "Uniform traffic in the author's node, well below gamma* and at it, with other weights of the dilation, other "
        "Deltas, and a Delta that grows with the distance (section 3.1.2), by the author's rules and by those of the "
        "text. By the author's, eta counts only while every queue of the source holds a packet.",
        beyond.sensitivity,
        evidence.lifetimes,
        drawing.none,
        text=text.columns("rules", "variant", "load", "lifetime_us", "hops", "derouted", "oidn", "widn"),
    ),
    Figure(
        "beyond",
        "Other networks",
        "Meshes, and tori of two, five and six dimensions, under virtual cut-through with credits and uniform traffic. "
        "Packets that go the other half of a ring, or by the other of two parallel links, count as derouted, as the "
        "author counts them, though their way is no longer: hops tell how much longer ways are.",
        beyond.networks,
        evidence.lifetimes,
        drawing.networks,
        text=text.columns("network", "routing", "load", "lifetime_us", "hops", "derouted", "oidn", "widn", "delivered"),
    ),
    Figure(
        "mesh",
        "OutFlank on a mesh",
        "On a mesh of 8 x 8 x 8 OFR with the paper's eta deroutes next to nothing, for the reason above. A smaller eta "
        "deroutes, which costs throughput under uniform traffic and gains it under the 3D transposition.",
        beyond.mesh,
        evidence.lifetimes,
        drawing.none,
        text=text.columns("pattern", "load", "variant", "lifetime_us", "hops", "derouted", "delivered"),
    ),
    Figure(
        "recorded",
        "Recorded traffic",
        "Block I/O of as many hosts as disks, bursty and with popular disks, from the generator of traces, in the "
        "author's node until everything is delivered; its times are divided by the compression.",
        beyond.recorded,
        evidence.lifetimes,
        drawing.none,
        text=text.columns("compression", "routing", "lifetime_us", "network_us", "hops", "derouted"),
    ),
)


def describe(of: Setting) -> str:
    """The networks in words."""
    return "tori of " + " and ".join(f"{k} x {k} x {k}" for k in of.sides) + " routers"


def options(of: Setting) -> str:
    """What is run, in Markdown."""
    rows = [
        [reading, name, toml_line(table)]
        for reading, routings in model.ROUTINGS.items()
        for name, table in routings.items()
    ]
    table = markdown_table(["reading", "routing", "`[routing]`"], rows)
    author = (
        f"The author's reading: the packet-level node, {of.messages} messages of {of.packets} packets for each node, "
        f"until everything is delivered; a load counts as sustained up to a mean lifetime of {CUT:g} times the "
        "smallest low-load lifetime of the three routings."
    )
    paper = (
        "The reading of the paper: the input-queued router with credits and a crossbar that takes no time, steady "
        f"states of {of.measured} messages of each node after {of.settling} of warm-up; a load counts as sustained if "
        f"{SHARE:.0%} of it is delivered."
    )
    return f"{table}\n\n{author} {paper} The transposition's network is 8 x 8 x 16 for k = 8."


def size(of: Setting) -> str:
    """How large the networks are."""
    return f"{' and '.join(f'{k**3:,}' for k in of.sides)} routers"


study = Study[Setting, Evidence](
    name="outflank",
    title="OutFlank routing on tori",
    paper=Paper(
        ("F. Versaci",),
        "OutFlank Routing: Increasing Throughput in Toroidal Interconnection Networks",
        "ICPADS 2013",
    ),
    setting=setting,
    network=cases.network,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
)
adopt(study, FIGURES, CLAIMS, REMARKS)
