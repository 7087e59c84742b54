"""The server as a process of its own: started, asked, changed, killed at any moment, and started again.

SIMCOMPLETE_KILLS says how often it is killed.
"""

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from serve.conftest import P
from serve.live import ask, free_port
from simcomplete._cli.app import app
from simcomplete._serve.server import listening, read_token
from simcomplete.estimators import PosteriorCompleter

KILLS = int(os.environ.get("SIMCOMPLETE_KILLS", "20"))
WRITERS = 2
pytest.importorskip("uvicorn")


def wait_until_ready(port, alive):
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        try:
            if ask(port, "GET", "/readyz")[0] == 200:
                return
        except OSError:
            assert alive()
            time.sleep(0.01)
    raise AssertionError("the server does not start")


class Started:
    """A server that was forked: killed by its process id."""

    def __init__(self, starter, folder):
        self.port = free_port()
        starter.stdin.write(json.dumps([str(folder), "--port", str(self.port), "--quiet"]) + "\n")
        starter.stdin.flush()
        self.pid = int(starter.stdout.readline())
        wait_until_ready(self.port, self.alive)

    def alive(self):
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def end(self, how):
        os.kill(self.pid, how)
        ends = time.monotonic() + 30
        while self.alive():
            assert time.monotonic() < ends
            time.sleep(0.005)


@pytest.fixture
def starter():
    command = [sys.executable, str(Path(__file__).with_name("starter.py"))]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        process.stdin.close()


class Writer:
    """Puts two candidates and removes one, over and over; remembers what was acknowledged and what is in doubt."""

    def __init__(self, name):
        self.name, self.count = name, 0
        self.there, self.gone = set(), set()
        self.put, self.removed = (), ()  # in doubt

    def run(self, port):
        try:
            while True:
                self.count += 1
                self.put = tuple(f"{self.name} {self.count} {side}" for side in "ab")
                self.removed = ()
                status, _, _ = ask(port, "PUT", "/v1/candidates", {"rows": P[:2].tolist(), "ids": list(self.put)})
                assert status == 200
                self.there |= set(self.put)
                self.removed, self.put = self.put[:1], ()
                assert ask(port, "DELETE", "/v1/candidates", {"ids": list(self.removed)})[0] == 200
                self.there -= set(self.removed)
                self.gone |= set(self.removed)
        except (OSError, http.client.HTTPException):
            pass  # killed

    def check(self, ids):
        """All that was acknowledged is there, and what was in doubt as a whole or not at all."""
        own = {key for key in ids if key.startswith(f"{self.name} ")}
        assert not own & self.gone
        put, removed = set(self.put), set(self.removed)
        assert put <= own or not put & own
        assert own - put - removed == self.there - put - removed
        self.there = own
        self.gone |= removed - own
        self.put = self.removed = ()


def read_on(port, statuses):
    try:
        while True:
            statuses.append(ask(port, "POST", "/v1/search", {"rows": [P[0].tolist()], "k": 3})[0])
    except (OSError, http.client.HTTPException):
        pass


def test_killed_at_any_moment_every_acknowledged_change_is_there(model, tmp_path, starter):
    model.save(tmp_path / "m")
    chance, writers, statuses = random.Random(0), [Writer(f"w{i}") for i in range(WRITERS)], []
    server = Started(starter, tmp_path / "m")
    for _ in range(KILLS):
        threads = [threading.Thread(target=writer.run, args=(server.port,)) for writer in writers]
        threads.append(threading.Thread(target=read_on, args=(server.port, statuses)))
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.02, 0.3))
        server.end(signal.SIGKILL)
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        server = Started(starter, tmp_path / "m")
        n = ask(server.port, "GET", "/v1/model")[2]["n_candidates"]
        ids = set(ask(server.port, "POST", "/v1/search", {"rows": [P[0].tolist()], "k": min(n, 1000)})[2]["ids"][0])
        assert len(ids) == n and {f"row {i}" for i in range(60)} <= ids
        for writer in writers:
            writer.check(ids)
        assert ids == {f"row {i}" for i in range(60)}.union(*(writer.there for writer in writers))
    assert set(statuses) == {200} and all(writer.count > KILLS for writer in writers)
    server.end(signal.SIGTERM)


def test_it_ends_well_when_told_to(model, tmp_path):
    model.save(tmp_path / "m")
    port = free_port()
    command = [sys.executable, "-m", "simcomplete", "serve", str(tmp_path / "m"), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_until_ready(port, lambda: process.poll() is None)
        secret = 0.1234567890123
        assert ask(port, "POST", "/v1/search?x", {"rows": [[secret, None, 1, 1, 1]]})[0] == 200
        assert ask(port, "GET", "/v1/nobody-knows")[0] == 404
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        first, *lines = process.stderr.read().splitlines()
    assert f"http://127.0.0.1:{port}/" in first
    logged = [json.loads(line) for line in lines]
    assert all(line.keys() == {"method", "path", "status", "ms"} for line in logged)
    assert [(line["path"], line["status"]) for line in logged[-2:]] == [("/v1/search", 200), ("other", 404)]
    assert "12345678" not in "".join(lines)


def test_refused_before_it_listens(model, tmp_path, capsys):
    model.save(tmp_path / "m")
    (tmp_path / "short").write_text("abc\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + b"0123456789abcdef" * 2)
    np.save(tmp_path / "wide.npy", np.ones((2, 6)))
    saved = str(tmp_path / "m")
    for more, words in [
        ([saved, "--host", "0.0.0.0"], "--token-file"),
        ([saved, "--token-file", str(tmp_path / "short")], "at least 16"),
        ([saved, "--token-file", str(tmp_path / "binary")], "at least 16"),
        ([saved, "--shape", "two"], "28x28"),
        ([saved, "--shape", "2x2"], "does not hold the 5 features"),
        ([saved, "--samples", str(tmp_path / "wide.npy")], "6 features"),
        ([str(tmp_path / "nothing")], "does not exist"),
        ([str(tmp_path)], "not a saved"),
        ([], "--demo"),
        (["--demo", "cheese"], "digits or wine"),
        (["--demo", "--shape", "8x8"], "its own data"),
    ]:
        assert app(["serve", *more], standalone_mode=False) == 2
        assert words in capsys.readouterr().err, more
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert app(["serve", saved, "--port", port], standalone_mode=False) == 2
    assert f"port {port}: address already in use; choose another --port" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"0123456789abcdef", b"\xef\xbb\xbf0123456789abcdef\r\n", b"\n 0123456789abcdef\n\n"]
)
def test_a_token_is_read_without_ends_of_lines_and_marks(content, tmp_path):
    (tmp_path / "token").write_bytes(content)
    assert read_token(tmp_path / "token") == "0123456789abcdef"


def test_connections_do_not_delay_small_packets():
    """asyncio sets TCP_NODELAY only where the protocol of the listening socket is named."""
    with listening("127.0.0.1", free_port()) as listener:
        assert listener.proto == socket.IPPROTO_TCP and listener.type == socket.SOCK_STREAM


def test_samples_of_a_file_by_name(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(P, columns=list("abcde"))
    PosteriorCompleter(effort="fast").fit(frame).save(tmp_path / "m")
    asked = []
    monkeypatch.setattr(
        "simcomplete._serve.server.serve_forever",
        lambda service, listener, *_, **__: listener.close() or asked.append(service),
    )
    (tmp_path / "rows.csv").write_text("a,b,c,d,e\n1,,3,4,5\n")
    command = ["serve", str(tmp_path / "m"), "--shape", "1x5", "--port", str(free_port()), "--samples"]
    assert not app([*command, str(tmp_path / "rows.csv")], standalone_mode=False)
    np.testing.assert_array_equal(asked[0].samples.rows, [[1, np.nan, 3, 4, 5]])
    assert asked[0].served.shape == (1, 5) and asked[0].served.names == list("abcde")
    (tmp_path / "other.csv").write_text("a,b,c,e,d\n1,,3,4,5\n")
    assert app([*command, str(tmp_path / "other.csv")], standalone_mode=False) == 2
