"""Fabrics drawn at random, as netlists that ibsim reads."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Drawn:
    """A fabric: the hosts of every switch, and the cables between switches."""

    name: str
    hosts: list[int]
    cables: list[tuple[int, int]]
    root: int | None = None
    """The switch that is the root where the network has no levels."""

    def netlist(self) -> str:
        """The input of ibsim: switches have their hosts' ports first, then the ports of cables in their order."""
        ends: list[list[tuple[str, int]]] = [[] for _ in self.hosts]
        adapters: list[tuple[str, str, int]] = []
        for switch, count in enumerate(self.hosts):
            for _ in range(count):
                name = f"h{len(adapters):03}"
                ends[switch].append((name, 1))
                adapters.append((name, f"s{switch:02}", len(ends[switch])))
        for a, b in self.cables:
            ports = len(ends[a]) + 1, len(ends[b]) + 1
            ends[a].append((f"s{b:02}", ports[1]))
            ends[b].append((f"s{a:02}", ports[0]))
        text = []
        for number, (name, leaf, port) in enumerate(adapters):
            text.append(f'caguid={0x10000 + 4 * number:#x}\nHca\t1 "{name}"\t# "{name}"\n[1]\t"{leaf}"[{port}]\n')
        for index, own in enumerate(ends):
            head = f'switchguid={guid(index):#x}\nSwitch\t{len(own)} "s{index:02}"\t# "s{index:02}"'
            rows = [f'[{port}]\t"{peer}"[{there}]' for port, (peer, there) in enumerate(own, 1)]
            text.append("\n".join([head, *rows]) + "\n")
        return "\n".join(text)


def guid(switch: int) -> int:
    """The GUID of a switch."""
    return 0x20000 + switch


def tree(rng: Random, leaves: int, spines: int, hosts: tuple[int, int], parallel: int = 1, lost: int = 0) -> Drawn:
    """Leaves of unequal numbers of hosts below spines, of whose cables some are lost; every leaf keeps half of them."""
    counts = [rng.randint(*hosts) for _ in range(leaves)]
    cables = [(leaf, leaves + spine) for leaf in range(leaves) for spine in range(spines) for _ in range(parallel)]
    for cable in rng.sample(cables, min(lost, len(cables))):
        if sum(leaf == cable[0] for leaf, _ in cables) > max(1, spines * parallel // 2):
            cables.remove(cable)
    return Drawn(f"tree-{leaves}-{spines}-{parallel}-{lost}", counts + [0] * spines, cables)


def high_tree(rng: Random, pods: int, leaves: int, middle: int, tops: int, hosts: tuple[int, int]) -> Drawn:
    """Three levels: `pods` pods of at most `leaves` leaves, and `tops` spines above each middle switch of a pod."""
    counts: list[int] = []
    cables: list[tuple[int, int]] = []
    middles = []
    for _ in range(pods):
        own = [len(counts) + leaf for leaf in range(rng.randint(max(1, leaves - 1), leaves))]
        counts += [rng.randint(*hosts) for _ in own]
        above = [len(counts) + place for place in range(middle)]
        counts += [0] * middle
        cables += [(leaf, switch) for leaf in own for switch in above]
        middles.append(above)
    for place in range(middle):
        for _ in range(tops):
            cables += [(above[place], len(counts)) for above in middles]
            counts.append(0)
    return Drawn(f"high_tree-{pods}-{leaves}-{middle}-{tops}", counts, cables)


def torus(width: int, height: int, hosts: int) -> Drawn:
    """A torus of two dimensions, three or more switches each."""

    def place(x: int, y: int) -> int:
        return y % height * width + x % width

    at = [(x, y) for y in range(height) for x in range(width)]
    cables = [(place(x, y), there) for x, y in at for there in (place(x + 1, y), place(x, y + 1))]
    return Drawn(f"torus-{width}-{height}", [hosts] * (width * height), cables, root=0)


def jellyfish(rng: Random, switches: int, degree: int, hosts: int) -> Drawn:
    """A random regular graph."""
    while True:
        stubs = [switch for switch in range(switches) for _ in range(degree)]
        rng.shuffle(stubs)
        cables = [(min(pair), max(pair)) for pair in zip(stubs[::2], stubs[1::2], strict=True)]
        if all(a != b for a, b in cables) and len(set(cables)) == len(cables) and _joined(switches, cables):
            return Drawn(f"jellyfish-{switches}-{degree}", [hosts] * switches, sorted(cables), root=0)


def _joined(switches: int, cables: list[tuple[int, int]]) -> bool:
    around: list[list[int]] = [[] for _ in range(switches)]
    for a, b in cables:
        around[a].append(b)
        around[b].append(a)
    met, rest = {0}, [0]
    while rest:
        new = set(around[rest.pop()]) - met
        met |= new
        rest += new
    return len(met) == switches


def drawn(seed: int) -> Drawn:
    """A fabric of any kind."""
    rng = Random(seed)
    match rng.randrange(6):
        case 0:
            return tree(rng, rng.randint(2, 8), rng.randint(2, 5), (1, 9))
        case 1:
            return tree(rng, rng.randint(2, 8), rng.randint(2, 5), (1, 9), rng.randint(2, 3))
        case 2:
            return tree(rng, rng.randint(3, 8), rng.randint(3, 6), (2, 8), 1, rng.randint(1, 5))
        case 3:
            return high_tree(rng, rng.randint(2, 4), rng.randint(2, 3), 2, rng.randint(1, 3), (1, 5))
        case 4:
            return torus(rng.randint(3, 5), rng.randint(3, 4), rng.randint(1, 3))
        case _:
            return jellyfish(rng, rng.randint(8, 16), rng.choice((4, 6)), rng.randint(1, 4))
