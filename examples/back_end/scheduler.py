"""A toy scheduler in front of Phit: jobs wait for free ranks, and share the network while they run.

Each job is a ring: in every round, each of its ranks calculates and then sends a block to the next one. The scheduler
knows jobs and calculations; Phit knows when the blocks arrive. Run it as `python scheduler.py network.toml`.
"""

import heapq
import itertools
import sys
from collections import deque
from dataclasses import dataclass, field

import phit


@dataclass
class Job:
    """A job: its size, its rounds, and what it does between messages."""

    name: str
    arrives: int
    ranks: int
    rounds: int
    bytes: int
    calculation: int
    places: list[int] = field(default_factory=list)
    begun: float = 0
    open: int = 0
    """Blocks of the present round that have not arrived."""


class Scheduler:
    """Jobs in the order of their arrival, each on the first ranks that are free."""

    def __init__(self, network: phit.Network) -> None:
        self.network = network
        self.free = list(range(network.ranks))
        self.queue: deque[Job] = deque()
        self.events: list[tuple[float, int, str, Job]] = []
        self.numbers = itertools.count()
        self.senders: dict[int, Job] = {}
        self.ended: list[tuple[Job, float]] = []

    def at(self, time: float, what: str, job: Job) -> None:
        heapq.heappush(self.events, (time, next(self.numbers), what, job))

    def run(self, jobs: list[Job]) -> None:
        for job in jobs:
            self.at(job.arrives, "arrive", job)
        while self.events or self.senders:
            # The next thing that happens: an event of the scheduler, or the arrival of a block before it.
            self.network.advance_to_completion(self.events[0][0] if self.events else None)
            for message in self.network.completed():
                self.arrived(self.senders.pop(message.handle), message.time)
            while self.events and self.events[0][0] <= self.network.now:
                time, _, what, job = heapq.heappop(self.events)
                if what == "arrive":
                    self.queue.append(job)
                    self.start(time)
                else:
                    self.exchange(job)

    def start(self, now: float) -> None:
        while self.queue and self.queue[0].ranks <= len(self.free):
            job = self.queue.popleft()
            job.places, self.free = self.free[: job.ranks], self.free[job.ranks :]
            job.begun = now
            self.at(now + job.calculation, "exchange", job)

    def exchange(self, job: Job) -> None:
        job.open = job.ranks
        for source, destination in zip(job.places, job.places[1:] + job.places[:1], strict=True):
            self.senders[self.network.send(source, destination, job.bytes)] = job

    def arrived(self, job: Job, now: float) -> None:
        job.open -= 1
        if job.open > 0:
            return
        job.rounds -= 1
        if job.rounds > 0:
            self.at(now + job.calculation, "exchange", job)
            return
        self.ended.append((job, now))
        self.free = sorted(self.free + job.places)
        self.start(now)


if __name__ == "__main__":
    scheduler = Scheduler(phit.Network(sys.argv[1]))
    scheduler.run(
        [
            Job("wide", arrives=0, ranks=12, rounds=4, bytes=4096, calculation=500),
            Job("small", arrives=100, ranks=4, rounds=10, bytes=1024, calculation=200),
            Job("late", arrives=1000, ranks=8, rounds=3, bytes=8192, calculation=100),
        ]
    )
    for job, ended in scheduler.ended:
        print(f"{job.name}: arrived {job.arrives}, began {job.begun}, ended {ended}")
