"""Many who change and search at once: what was acknowledged is there, and every answer is of one moment."""

import asyncio
import itertools
import threading
import time

import numpy as np
import pytest

from serve.conftest import P
from serve.live import ask, running
from simcomplete._serve.answers import Served
from simcomplete._serve.app import Service
from simcomplete._serve.journal import Journal
from simcomplete._serve.server import open_service
from simcomplete.estimators import PosteriorCompleter

SECONDS, WRITERS, READERS = 2.0, 4, 3
pytest.importorskip("uvicorn")


def gaps(rng, n):
    hidden = rng.random((n, P.shape[1])) < 0.4
    hidden[:, 0] = False  # something is known of every row
    return np.where(hidden, np.nan, rng.random(hidden.shape))


def as_json(rows):
    return [[None if np.isnan(x) else float(x) for x in row] for row in rows]


def close(service):
    service.journal.close()
    if service.served.in_store:
        service.served.store.close()


class Writer(threading.Thread):
    """Puts, replaces and removes candidates of its own, and remembers what was acknowledged."""

    def __init__(self, port, number, ends):
        super().__init__(daemon=True)
        self.port, self.number, self.ends = port, number, ends
        self.own, self.wrong = {}, []

    def run(self):
        rng = np.random.default_rng([self.number, 1])  # no row of the model again: equal rows have no order
        for turn in itertools.count():
            if time.monotonic() > self.ends:
                return
            if len(self.own) < 3 or rng.random() < 0.6:
                ids = [f"w{self.number} {i}" for i in rng.choice(12, 3, replace=False)]
                rows, notes = rng.random((3, P.shape[1])), [{"of": f"{key} in {turn}"} for key in ids]
                change = ("PUT", "/v1/candidates", {"rows": rows.tolist(), "ids": ids, "payloads": notes})
                after = self.own | dict(zip(ids, zip(rows, notes, strict=True), strict=True))
            else:
                ids = [str(key) for key in rng.choice(sorted(self.own), 2, replace=False)]
                change = ("DELETE", "/v1/candidates", {"ids": ids})
                after = {key: value for key, value in self.own.items() if key not in ids}
            status, _, found = ask(self.port, *change)
            if status != 200:
                self.wrong.append(found)
                return
            self.own = after


class Reader(threading.Thread):
    """Searches, and looks whether neighbours and payloads belong together."""

    def __init__(self, port, number, ends):
        super().__init__(daemon=True)
        self.port, self.number, self.ends = port, number, ends
        self.wrong, self.answers = [], 0

    def run(self):
        rng = np.random.default_rng(100 + self.number)
        while time.monotonic() < self.ends:
            body = {"rows": as_json(gaps(rng, 3)), "k": 9, "payloads": True, "overlap": True}
            status, _, found = ask(self.port, "POST", "/v1/search", body)
            self.wrong += [] if status == 200 else [found]
            for part in (found, found["overlap"]):
                self.wrong += [line for line in part["scores"] if line != sorted(line, reverse=True)]
                for ids, notes in zip(part["ids"], part["payloads"], strict=True):
                    self.wrong += [ids] if len(set(ids)) < 9 else []
                    told = [f"{(note or {}).get('of', 'none')} " for note in notes]
                    self.wrong += [
                        (key, note)
                        for key, note in zip(ids, told, strict=True)
                        if not note.startswith("none " if key.startswith("row") else f"{key} in ")
                    ]
            self.answers += 1


@pytest.mark.parametrize("store", [None, "sqlite:{}/vectors.sqlite"])
def test_what_many_do_at_once_is_what_they_were_told(tmp_path, store):
    model = PosteriorCompleter(effort="fast").fit(P, ids=[f"row {i}" for i in range(60)])
    Q = gaps(np.random.default_rng(9), 40)
    question = {"rows": as_json(Q), "k": 10, "payloads": True}
    model.save(tmp_path / "m")
    where = None if store is None else store.format(tmp_path)
    service = open_service(tmp_path / "m", None, store=where)
    with running(service) as port:
        ends = time.monotonic() + SECONDS
        writers = [Writer(port, i, ends) for i in range(WRITERS)]
        readers = [Reader(port, i, ends) for i in range(READERS)]
        for thread in (*writers, *readers):
            thread.start()
        for thread in (*writers, *readers):
            thread.join(30)
            assert not thread.is_alive()
        assert [thread.wrong for thread in (*writers, *readers)] == [[]] * (WRITERS + READERS)
        assert all(reader.answers for reader in readers)
        answers = [ask(port, "POST", "/v1/search", question)[2]]
    close(service)
    again = open_service(tmp_path / "m", None, store=where)
    with running(again) as port:
        answers.append(ask(port, "POST", "/v1/search", question)[2])
    close(again)
    # The same rows put into the fitted model at once, by nobody who has to wait for anybody.
    own = {key: value for writer in writers for key, value in writer.own.items()}
    model.partial_fit(np.array([row for row, _ in own.values()]), ids=list(own))
    expected = model.search(Q, 10)
    for found in answers:
        assert found["ids"] == [list(line) for line in expected.ids]
        np.testing.assert_allclose(found["scores"], expected.scores, atol=1e-12)
        notes = [[own[key][1] if key in own else None for key in line] for line in found["ids"]]
        assert found["payloads"] == notes


def test_a_change_that_nobody_waits_for_any_more_is_made_whole(tmp_path):
    """It was on disk and not in the model if whoever had asked for it was gone before it was done."""
    model = PosteriorCompleter(effort="fast").fit(P, ids=[f"row {i}" for i in range(60)])
    service = Service(Served.of(model), Journal(tmp_path / "changes.sqlite", "m", 5))

    async def leave():
        first = asyncio.create_task(service.change(P[:1], ["a"], [None], []))
        await asyncio.sleep(0)
        first.cancel()
        return await service.change(P[:1], ["b"], [None], [])

    held = threading.Event()
    service._writer.submit(held.wait)  # so that the first change has not begun when nobody waits for it
    service._writer.submit(lambda: None)
    threading.Timer(0.2, held.set).start()
    n = asyncio.run(leave())
    recorded = service.journal.recorded().ids
    assert sorted(recorded) == sorted(key for key in service.served.ids.as_list() if not key.startswith("row"))
    assert n == 60 + len(recorded)
    service.journal.close()
