"""Runs points as array jobs of Slurm, submitted by `submitit`.

A job gets a batch of points. It appends each answer as a line to its file as soon as a point ends, and this process
reads new lines. A lost job (node failed, time over, or cancelled) is submitted again with the points that it has not
answered.
"""

import getpass
import json
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phit.base.durations import seconds
from phit.base.errors import InputError, SimulationError, failure, one_line
from phit.document.experiment import WORK_PER_SECOND, Point
from phit.running.executors import execute, ours
from phit.running.sharding import shares
from phit.running.where import Cluster
from phit.running.workers import Answer, Answers

LOOK_SECONDS = 1.0
"""Seconds between two checks for new answers."""

ASK_SECONDS = 5.0
"""Seconds between two queries of Slurm for its jobs."""

TRIES = 3
"""Jobs that may be lost in succession without an answer, before the point that they began with counts as failed."""

Batch = list[tuple[int, str]]
"""Points by number, each with its scenario."""


def work_through(file: str, batch: Batch, force: bool) -> None:
    """Runs the points of a job and writes a line for each."""
    with Path(file).open("a+", encoding="utf-8") as answers:
        # Slurm may have requeued the job: complete lines stay, an incomplete last line is removed.
        answers.seek(0)
        kept = [line for line in answers if line.endswith("\n")]
        answers.truncate(sum(len(line.encode()) for line in kept))
        there = {json.loads(line)["point"] for line in kept}
        for i, scenario in batch:
            if i in there:
                continue
            try:
                line: dict[str, Any] = {"point": i, "answer": execute(i, scenario, force)}
            except Exception as error:  # a point that fails must not take the others with it
                line = {"point": i, "error": one_line(error)}
            answers.write(json.dumps(line, ensure_ascii=False) + "\n")
            answers.flush()
            os.fsync(answers.fileno())


@dataclass
class _Job:
    """A batch that was submitted, and its progress."""

    file: Path
    left: dict[int, str]
    """Points without an answer."""
    name: str = ""
    """Slurm's name of the job, such as 17_3."""
    read: int = 0
    """Bytes of the file that have been read."""
    absent: int = 0
    """Queries in succession in which Slurm did not know the job."""
    tries: int = 1
    logs: list[str] = field(default_factory=list)

    def news(self) -> list[tuple[int, Answer | Exception]]:
        """The answers since the last call; an incomplete line waits."""
        if not self.file.exists():
            return []
        with self.file.open("rb") as file:
            file.seek(self.read)
            lines = file.read()
        whole = lines[: lines.rfind(b"\n") + 1]
        self.read += len(whole)
        found: list[tuple[int, Answer | Exception]] = []
        for text in whole.splitlines():
            line = json.loads(text)
            if self.left.pop(line["point"], None) is not None:
                self.tries = 0
                answer = ours(json.loads(line["answer"])) if "answer" in line else SimulationError(line["error"])
                found.append((line["point"], answer))
        return found


def run_on_slurm(
    points: Sequence[Point],
    scenarios: Sequence[str],
    cluster: Cluster,
    folder: Path | None,
    force: bool,
    say: Callable[[str], None],
) -> Answers:
    """Runs scenarios as jobs of Slurm. All nodes must see `folder`, or else the working directory.

    If this generator ends early, the jobs are cancelled.
    """
    place = Path(tempfile.mkdtemp(prefix="jobs-", dir=folder or Path.cwd())).resolve()
    submitted = _Submitted(place, cluster, force)
    batch = WORK_PER_SECOND * seconds(cluster.batch, "cluster.batch")
    count = max(1, min(len(points), math.ceil(sum(point.work for point in points) / batch)))
    whole = False
    try:
        submitted.submit([{i: scenarios[i] for i in share} for share in shares(points, count)], say)
        yield from submitted.answers(say)
        whole = True
    finally:
        submitted.cancel()
        if whole:
            shutil.rmtree(place, ignore_errors=True)
        else:
            say(f"logs of the jobs are in {place}")


class _Submitted:
    """The jobs of one sweep."""

    def __init__(self, place: Path, cluster: Cluster, force: bool) -> None:
        self._place = place
        self._cluster = cluster
        self._force = force
        self._running: list[_Job] = []
        self._made = 0
        self._asked = time.monotonic()

    def submit(self, batches: Sequence[dict[int, str]], say: Callable[[str], None], tries: int = 1) -> None:
        """Submits a job for each batch, all as one array job."""
        try:
            from submitit import SlurmExecutor
        except ImportError:
            raise InputError("executor (--executor) = slurm: expected the extra phit[slurm] to be installed") from None
        asked = self._cluster
        try:
            executor = SlurmExecutor(folder=self._place)
            executor.update_parameters(
                job_name="phit",
                partition=asked.partition,
                account=asked.account,
                time=math.ceil(seconds(asked.time, "cluster.time") / 60),
                mem=asked.memory,
                cpus_per_task=1,
                array_parallelism=asked.jobs,
            )
            jobs = [
                _Job(self._place / f"answers-{self._made + i}.jsonl", b, tries=tries) for i, b in enumerate(batches)
            ]
            with executor.batch():
                made = [executor.submit(work_through, str(j.file), list(j.left.items()), self._force) for j in jobs]
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            raise failure(f"slurm: jobs cannot be submitted ({one_line(error)})") from None
        self._made += len(jobs)
        for job, one in zip(jobs, made, strict=True):
            job.name = str(one.job_id)
            job.logs = [str(one.paths.stderr)]
        self._running += jobs
        say(f"slurm: {len(jobs)} jobs submitted, {made[0].job_id.split('_')[0]}")

    def answers(self, say: Callable[[str], None]) -> Iterator[tuple[int, Answer | Exception]]:
        """The answers in the order of their arrival, until all points have one."""
        while self._running:
            known = self._known()
            for job in list(self._running):
                yield from job.news()
                if not job.left:
                    self._running.remove(job)
                elif known is not None:
                    job.absent = 0 if job.name in known else job.absent + 1
                    # Two queries, because a file system may show a job's output later than Slurm shows its end.
                    if job.absent >= 2:
                        yield from job.news()
                        yield from self._again(job, say)
            time.sleep(LOOK_SECONDS)

    def _again(self, job: _Job, say: Callable[[str], None]) -> Iterator[tuple[int, Answer | Exception]]:
        """Submits the remaining points of a lost job again, or gives up a point with which several jobs were lost."""
        self._running.remove(job)
        if job.tries >= TRIES:
            point = min(job.left)
            del job.left[point]
            words = f"{TRIES} jobs in succession were lost with it; the log of the last is {job.logs[-1]}"
            yield point, SimulationError(words)
            job.tries = 0
        if job.left:
            say(f"slurm: job {job.name} was lost with {len(job.left)} points to run; it is submitted again")
            self.submit([job.left], say, job.tries + 1)

    def _known(self) -> set[str] | None:
        """The names of the jobs that Slurm still has; `None` between two queries, or if Slurm does not answer."""
        if time.monotonic() - self._asked < ASK_SECONDS:
            return None
        self._asked = time.monotonic()
        command = ["squeue", "--noheader", "--array", "--format=%F_%K", f"--user={getpass.getuser()}"]
        try:
            listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        except (OSError, subprocess.CalledProcessError):
            return None
        return {name.removesuffix("_N/A") for name in listed}

    def cancel(self) -> None:
        """Cancels all remaining jobs."""
        names = [job.name for job in self._running]
        if names:
            subprocess.run(["scancel", *names], capture_output=True, check=False)
