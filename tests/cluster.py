"""Clusters of this machine alone, for tests: a scheduler of Dask with workers, and Slurm with one node."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SLURM = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scancel", "srun")
PATIENCE = 60.0


def has_slurm() -> bool:
    """Whether all of Slurm is installed, and its daemons may be started: they take root."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    return os.geteuid() == 0 and all(shutil.which(name, path=path) for name in SLURM)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def until(true: Callable[[], bool], what: str) -> None:
    """Waits until something is true."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"{what} within {PATIENCE:.0f} s"
        time.sleep(0.05)


@contextmanager
def daemons() -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Starts processes in the foreground with their output in a file, and ends them with their children."""
    started: list[subprocess.Popen[bytes]] = []

    def start(log: Path, *command: object, **env: str) -> "subprocess.Popen[bytes]":
        with log.open("wb") as file:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env},
                start_new_session=True,
            )
        started.append(process)
        return process

    try:
        yield start
    finally:
        for process in reversed(started):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@dataclass(frozen=True)
class Dask:
    """A scheduler, and its workers, which are processes of their own."""

    address: str
    workers: list["subprocess.Popen[bytes]"]


@contextmanager
def dask(folder: Path, workers: int) -> Iterator[Dask]:
    """A Dask cluster."""
    port = free_port()
    place = ("--host", "127.0.0.1")
    cli = (sys.executable, "-m", "distributed.cli")
    with daemons() as start:
        start(folder / "scheduler.log", *cli[:2], f"{cli[2]}.dask_scheduler", *place, "--port", port, "--no-dashboard")
        one = (*cli[:2], f"{cli[2]}.dask_worker", f"tcp://127.0.0.1:{port}", *place, "--no-nanny", "--no-dashboard")
        running = [
            start(folder / f"worker{i}.log", *one, "--nthreads", 1, "--local-directory", folder) for i in range(workers)
        ]

        def registered() -> bool:
            return all(
                b"Starting established connection" in (folder / f"worker{i}.log").read_bytes() for i in range(workers)
            )

        until(registered, "workers")
        yield Dask(f"dask://127.0.0.1:{port}", running)


CONF = """\
ClusterName=phit
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmdPort={d}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
MinJobAge=2
KillWait=2
SchedulerParameters=sched_min_interval=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=short Nodes=ALL Default=YES MaxTime=60 State=UP
"""


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Slurm with one node; yields the environment of its commands."""
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o755, parents=True)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    host = socket.gethostname().split(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=host, ctld=free_port(), d=free_port(), folder=folder))
    env = {"SLURM_CONF": str(conf), "PATH": f"{os.environ['PATH']}:/usr/sbin"}

    def idle() -> bool:
        asked = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        return asked.stdout.strip() == "idle"

    with daemons() as start:
        at = folder / "munge"
        start(
            folder / "munged.log", "munged", "--foreground", "--force", f"--socket={at}/socket", f"--key-file={key}",
            f"--pid-file={at}/pid", f"--seed-file={at}/seed", f"--log-file={at}/log", "--num-threads=2", **env,
        )  # fmt: skip
        until(lambda: (at / "socket").exists(), "munged")
        start(folder / "slurmctld.log", "slurmctld", "-D", "-f", conf, **env)
        start(folder / "slurmd.log", "slurmd", "-D", "-f", conf, **env)
        until(idle, "slurm")
        yield env
