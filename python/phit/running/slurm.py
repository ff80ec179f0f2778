"""Runs points as array jobs of Slurm, which `submitit` submits.

A job is given a batch of points. It writes each answer to a file of its own as soon as it is there, a line for each,
and this process reads what has come. A job that is lost (its node, its time, or somebody ended it) is submitted again
with what it has not answered.
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
"""Between two looks at what has come."""

ASK_SECONDS = 5.0
"""Between two questions to Slurm which jobs there are."""

TRIES = 3
"""Jobs that may be lost without an answer, one after another, before the point that they began with has failed."""

Batch = list[tuple[int, str]]
"""Points by number, each with its scenario."""


def work_through(file: str, batch: Batch, force: bool) -> None:
    """What a job does: runs its points and writes a line for each."""
    with Path(file).open("a+", encoding="utf-8") as answers:
        # Slurm may have put the job back into the queue: what it had answered stays, half a line goes.
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
    """A batch that was submitted, and how far it has come."""

    file: Path
    left: dict[int, str]
    """Points without an answer."""
    name: str = ""
    """Slurm's: 17_3."""
    read: int = 0
    """Bytes of the file that have been read."""
    absent: int = 0
    """How often Slurm did not know it any more, one after another."""
    tries: int = 1
    logs: list[str] = field(default_factory=list)

    def news(self) -> list[tuple[int, Answer | Exception]]:
        """What has been answered since; a line that is not whole waits."""
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
    """Runs scenarios as jobs of Slurm; `folder`, or else the working directory, is one that all nodes see.

    When this ends early, the jobs are cancelled.
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
        """Submits a job for each batch, all as one array."""
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
        """The answers as they come, until all are there."""
        while self._running:
            known = self._known()
            for job in list(self._running):
                yield from job.news()
                if not job.left:
                    self._running.remove(job)
                elif known is not None:
                    job.absent = 0 if job.name in known else job.absent + 1
                    # Twice: between the end of a job and what it has written a file system may take its time.
                    if job.absent >= 2:
                        yield from job.news()
                        yield from self._again(job, say)
            time.sleep(LOOK_SECONDS)

    def _again(self, job: _Job, say: Callable[[str], None]) -> Iterator[tuple[int, Answer | Exception]]:
        """Submits what a lost job has left, or gives up the point that it cannot get past."""
        self._running.remove(job)
        if job.tries >= TRIES:
            point = min(job.left)
            del job.left[point]
            words = f"{TRIES} jobs were lost with it, one after another; the last one's log is {job.logs[-1]}"
            yield point, SimulationError(words)
            job.tries = 0
        if job.left:
            say(f"slurm: job {job.name} was lost with {len(job.left)} points to run; it is submitted again")
            self.submit([job.left], say, job.tries + 1)

    def _known(self) -> set[str] | None:
        """The names of the jobs that Slurm still has; `None` if it was not asked, or does not answer."""
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
        """Cancels all jobs that are left."""
        names = [job.name for job in self._running]
        if names:
            subprocess.run(["scancel", *names], capture_output=True, check=False)
