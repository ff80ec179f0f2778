"""Where points run: on this machine, on an executor, on a cluster, or as one shard of many."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from phit.base.durations import seconds
from phit.base.errors import InputError
from phit.base.text import quoted
from phit.document.sections import SECTIONS
from phit.running.sharding import Shard

if TYPE_CHECKING:
    from concurrent.futures import Executor

LOCAL, SLURM, DASK = "local", "slurm", "dask://"


@dataclass(frozen=True)
class Cluster:
    """What is asked of a cluster: the table `[cluster]` of an experiment, and options."""

    partition: str | None = None
    account: str | None = None
    time: str = "1h"
    """Longest time of a job. One that is ended there is submitted again with what it has not finished."""
    memory: str | None = None
    """Of a job, as "4GB"."""
    batch: str = "5m"
    """About how long a job lasts: so many points are put into one."""
    jobs: int = 256
    """Most jobs that run at a time."""

    @classmethod
    def of(cls, *tables: Mapping[str, Any]) -> "Cluster":
        """Of several tables, the later one counts where both say something."""
        found: dict[str, Any] = {}
        for table in tables:
            for key, value in table.items():
                if key not in _KEYS:
                    raise InputError(
                        f"cluster.{key}: unknown key; expected one of {', '.join(_KEYS)}", f"cluster.{key}"
                    )
                whole = isinstance(value, int) and not isinstance(value, bool)
                if key == "jobs" and not (whole and value >= 1):
                    raise InputError(
                        f"cluster.jobs = {quoted(value)}: expected a whole number, at least 1", "cluster.jobs"
                    )
                if key != "jobs" and not (isinstance(value, str) and value):
                    raise InputError(f"cluster.{key} = {quoted(value)}: expected a text", f"cluster.{key}")
            found |= table
        made = cls(**found)
        for key in ("time", "batch"):
            if seconds(getattr(made, key), f"cluster.{key}") <= 0:
                raise InputError(f"cluster.{key} = {getattr(made, key)}: expected more than 0", f"cluster.{key}")
        return made


_KEYS = tuple(one.name for one in fields(Cluster))
assert set(_KEYS) == SECTIONS["cluster"]["properties"].keys()


@dataclass(frozen=True)
class Where:
    """Which processes run points."""

    workers: int | None = None
    """Processes of this machine; one per core if not given."""
    executor: "Executor | str | None" = None
    """A `concurrent.futures` executor, or "local", "slurm" or "dask://host:port"."""
    cluster: Cluster = field(default_factory=Cluster)
    shard: Shard | None = None
    """The part that is run."""

    def __post_init__(self) -> None:
        name = self.executor
        if isinstance(name, str) and name not in (LOCAL, SLURM) and not name.startswith(DASK):
            raise InputError(f"executor (--executor) = {quoted(name)}: expected local, slurm or dask://HOST:PORT")

    @property
    def local(self) -> bool:
        """Whether they are processes of ours, on this machine."""
        return self.executor is None or self.executor == LOCAL


@dataclass(frozen=True)
class Asked:
    """What somebody asks for, by arguments or options."""

    workers: int | None = None
    executor: "Executor | str | None" = None
    cluster: Mapping[str, Any] = field(default_factory=dict)
    shard: Shard | str | None = None

    def where(self, *tables: Mapping[str, Any]) -> Where:
        """Which processes that means, where these tables `[cluster]` count as far as nothing else is asked for."""
        shard = None if self.shard is None else Shard.parse(self.shard)
        return Where(self.workers, self.executor, Cluster.of(*tables, self.cluster), shard)


HERE = Where()
"""One process per core of this machine."""

ASKED = Asked()
"""Nothing."""
