"""Requests that arrive together are answered together: one matrix product for many rows, within 2 ms of waiting.

A request of many rows is answered in pieces, and others are answered between them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import SimcompleteError

WAIT = 0.002  # seconds
MOST_ROWS = 256  # in one batch
FEW_ROWS = 32  # of a request, that are never split: products of fewer rows take longer for each
PIECE = 0.05  # seconds of the processor that a piece of a larger request should take

Found = dict[str, Any]
Answer = Callable[[Any, Any, NDArray[np.float64]], Found]


@dataclass(eq=False)
class Pending:
    """A request that waits, or of which some rows were answered."""

    question: Any
    rows: NDArray[np.float64]
    future: asyncio.Future[Found]
    since: float
    state: Any = None
    parts: list[Found] = field(default_factory=list)
    done: int = 0

    @property
    def left(self) -> int:
        """How many rows are still to be answered."""
        return len(self.rows) - self.done

    def by(self, now: Any) -> Any:
        """The state that it is answered by: that of its first rows, or the present one."""
        return now if self.state is None else self.state

    def settle(self, part: Found, count: int) -> None:
        """Take the answer for the next rows; with the last the request is answered."""
        self.done += count
        self.parts.append(part)
        if not self.left and not self.future.done():  # else a client that has gone
            names = part if len(self.parts) > 1 else ()
            whole = {name: np.concatenate([each[name] for each in self.parts]) for name in names}
            self.future.set_result(whole or part)

    def fail(self, error: BaseException) -> None:
        """Give up."""
        self.done = len(self.rows)
        if not self.future.done():
            self.future.set_exception(error)


class Batches:
    """Rows with the same question wait for each other, and for the batch before them.

    Parameters
    ----------
    answer : callable
        From a question (anything that can be compared), a state and rows to arrays by name, one line per row.
    state : callable
        What rows are answered by: asked for when the first rows of a request are, and kept for all of its rows.
    """

    def __init__(self, answer: Answer, state: Callable[[], Any]) -> None:
        self.answer, self.state = answer, state
        self.sizes: list[int] = []  # of batches, since they were last asked for
        self._waiting: list[Pending] = []
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="answers")
        self._runner: asyncio.Task[None] | None = None
        self._pace = 0.0  # seconds that a row took lately

    async def ask(self, question: Any, rows: NDArray[np.float64]) -> Found:
        """Answer for some rows."""
        future: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self._waiting.append(Pending(question, rows, future, time.monotonic()))
        if self._runner is None:
            self._runner = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        """Answer batches until nobody waits."""
        try:
            while self._waiting:
                pause = self._waiting[0].since + WAIT - time.monotonic()
                if pause > 0:
                    await asyncio.sleep(pause)
                batch = self._next()
                now = {id(each) for each, _ in batch}
                self._waiting = [each for each in self._waiting if id(each) not in now]
                await self._answer(batch)
                # What is left of a large request waits behind those that have come meanwhile.
                self._waiting += [each for each, _ in batch if each.left and not each.future.done()]
        finally:
            self._runner = None

    def _next(self) -> list[tuple[Pending, int]]:
        """The request that has waited longest, those with the same question, and how many rows of each."""
        first, now = self._waiting[0], self.state()
        state = first.by(now)
        alike = [each for each in self._waiting[1:] if each.question == first.question and each.by(now) is state]
        few = [each for each in alike if each.left <= FEW_ROWS]
        # A piece of a large request: as much as is done in a short time, less what others are waiting for.
        most = min(MOST_ROWS, max(FEW_ROWS, int(PIECE / self._pace) if self._pace else MOST_ROWS))
        piece = max(FEW_ROWS, most - sum(each.left for each in few))
        batch = [(first, min(first.left, piece))]
        size = batch[0][1]
        for each in few:
            if size + each.left <= MOST_ROWS:
                batch.append((each, each.left))
                size += each.left
        for each in alike:
            if each.left > FEW_ROWS and size < most:
                batch.append((each, min(each.left, most - size)))
                size += batch[-1][1]
        for each, _ in batch:
            each.state = state
        return batch

    async def _answer(self, batch: list[tuple[Pending, int]]) -> None:
        run = asyncio.get_running_loop().run_in_executor
        question, state = batch[0][0].question, batch[0][0].state
        rows = np.concatenate([each.rows[each.done : each.done + count] for each, count in batch])
        self.sizes.append(len(rows))
        try:
            found = await run(self._worker, self._timed, question, state, rows)
        except SimcompleteError as error:
            if len(batch) == 1:
                batch[0][0].fail(error)
                return
            for alone in batch:  # one of them is to blame, and the others are not
                await self._answer([alone])
        except BaseException as error:
            for each, _ in batch:
                each.fail(error)
            if not isinstance(error, Exception):
                raise
        else:
            start = 0
            for each, count in batch:
                each.settle({name: values[start : start + count] for name, values in found.items()}, count)
                start += count

    def _timed(self, question: Any, state: Any, rows: NDArray[np.float64]) -> Found:
        """Answer in the worker, and note how long it took; time of the processor, whatever else it has to do."""
        begun = time.thread_time()
        found = self.answer(question, state, rows)
        if len(rows) >= FEW_ROWS:  # of fewer, each takes longer
            self._pace = (time.thread_time() - begun) / len(rows)
        return found

    def close(self) -> None:
        """Let the worker end."""
        self._worker.shutdown(wait=False)
