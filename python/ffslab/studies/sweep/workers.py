"""Who works: processes of this machine, or a dask cluster. Both take work one piece at a time for each place."""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from enum import Enum
from multiprocessing import get_context
from typing import Any, TypeVar

from ffslab._native import InputError
from ffslab.studies.sweep.tasks import begin

Result = TypeVar("Result")
# How long a scheduler may take to answer at first, and to be there again after it has gone.
ANSWER_S = 20.0
RETURN_S = 60.0


class Loss(Enum):
    """What was lost with a piece of work."""

    WORKER = "worker"
    SCHEDULER = "scheduler"


class Workers(ABC):
    """Takes work and gives futures of it. `places`: how many pieces are worked on at once."""

    places: int

    @abstractmethod
    def submit(self, work: Callable[..., Result], *given: object) -> Future[Result]:
        """Begins a piece of work. No more than `places` of them may be unfinished."""

    @abstractmethod
    def loss(self, future: Future[Any]) -> Loss | None:
        """Whether a piece that has ended was lost, and nothing is to be said of its work."""

    @abstractmethod
    def close(self) -> None:
        """Ends all work at once."""


class LocalWorkers(Workers):
    """Processes of this machine, each a pool of its own: who loses one knows which work it had."""

    def __init__(self, jobs: int | None = None) -> None:
        self.places = jobs or len(os.sched_getaffinity(0))
        self._pools: list[ProcessPoolExecutor | None] = [None] * self.places
        self._running: dict[int, Future[Any]] = {}

    def submit(self, work: Callable[..., Result], *given: object) -> Future[Result]:
        at = next(at for at in range(self.places) if at not in self._running or self._running[at].done())
        # A fresh process has no threads and locks of this one.
        pool = self._pools[at] or ProcessPoolExecutor(1, get_context("spawn"), begin)
        try:
            future = pool.submit(work, *given)
        except BrokenProcessPool:
            # Its process has ended.
            pool = ProcessPoolExecutor(1, get_context("spawn"), begin)
            future = pool.submit(work, *given)
        self._pools[at], self._running[at] = pool, future
        return future

    def loss(self, future: Future[Any]) -> Loss | None:
        return Loss.WORKER if isinstance(future.exception(), BrokenProcessPool) else None

    def close(self) -> None:
        for pool in filter(None, self._pools):
            # Its public way waits for the end of what runs.
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(wait=True, cancel_futures=True)
        self._pools = [None] * self.places


class DaskWorkers(Workers):
    """Workers of a dask cluster, which read the files of the study at the same paths as this machine."""

    def __init__(self, address: str) -> None:
        """`address`: of the scheduler, such as "tcp://10.0.0.1:8786".

        Raises `ffslab.InputError` when dask is not installed or nobody answers.
        """
        self._address = address
        self._client = self._connected(ANSWER_S, f"--scheduler {address}: no dask scheduler answers")
        threads: dict[str, int] = self._client.nthreads()
        self._take_places(sum(threads.values()))

    def _take_places(self, threads: int) -> None:
        # Pieces wait at the scheduler, so that no worker waits for us.
        self.places = 2 * max(1, threads)
        self._waiting = ThreadPoolExecutor(self.places)

    def _connected(self, timeout_s: float, failed: str) -> Any:
        try:
            from distributed import Client
        except ImportError:
            raise InputError('--scheduler needs the package distributed: pip install "ffslab[cluster]"') from None
        # What it says of a lost scheduler is said here, in a line.
        for name in [*logging.root.manager.loggerDict, "tornado.application"]:
            if name.startswith(("distributed", "tornado")):
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        # dask publishes no types.
        make: Any = Client
        try:
            return make(self._address, timeout=timeout_s)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(f"{failed}: {error}") from None

    def submit(self, work: Callable[..., Result], *given: object) -> Future[Result]:
        # Not pure: equal work is done again when it is asked for again, or a lost worker would be remembered.
        asked = self._client.submit(work, *given, pure=False)
        return self._waiting.submit(asked.result)

    def loss(self, future: Future[Any]) -> Loss | None:
        from distributed.scheduler import KilledWorker

        error = future.exception()
        if isinstance(error, KilledWorker):
            return Loss.WORKER
        if not isinstance(error, CancelledError | OSError | TimeoutError):
            return None
        # The scheduler has gone, and all that it knew. It may be back already.
        if self._client.status != "running":
            self._client.close(timeout=1)
            gone = f"the dask scheduler at {self._address} has gone (what has run is in the store: run this again)"
            self._client = self._connected(RETURN_S, gone)
        return Loss.SCHEDULER

    def close(self) -> None:
        self._client.close(timeout=1)
        self._waiting.shutdown(wait=False, cancel_futures=True)
