"""Where points run: on this machine, on an executor, on a cluster, or as one of many shards."""

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
    """Requests to a cluster: the table `[cluster]` of an experiment, and options."""

    partition: str | None = None
    account: str | None = None
    time: str = "1h"
    """Longest time of a job. A job that reaches it is submitted again with the points that it has not finished."""
    memory: str | None = None
    """Memory of a job, as "4GB"."""
    batch: str = "5m"
    """Intended duration of a job, which sets how many points it gets."""
    jobs: int = 256
    """Maximum number of jobs at a time."""

    @classmethod
    def of(cls, *tables: Mapping[str, Any]) -> "Cluster":
        """The requests of several tables; a later table overrides earlier ones."""
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
    """The part of the points to run."""

    def __post_init__(self) -> None:
        name = self.executor
        if isinstance(name, str) and name not in (LOCAL, SLURM) and not name.startswith(DASK):
            raise InputError(f"executor (--executor) = {quoted(name)}: expected local, slurm or dask://HOST:PORT")

    @property
    def local(self) -> bool:
        """Whether the points run in child processes on this machine."""
        return self.executor is None or self.executor == LOCAL


@dataclass(frozen=True)
class Asked:
    """Where points shall run, by arguments or options."""

    workers: int | None = None
    executor: "Executor | str | None" = None
    cluster: Mapping[str, Any] = field(default_factory=dict)
    shard: Shard | str | None = None

    def where(self, *tables: Mapping[str, Any]) -> Where:
        """The processes that run points. Keys of these `[cluster]` tables apply where no argument overrides them."""
        shard = None if self.shard is None else Shard.parse(self.shard)
        return Where(self.workers, self.executor, Cluster.of(*tables, self.cluster), shard)


HERE = Where()
"""One process per core of this machine."""

ASKED = Asked()
"""No requests: the defaults."""
