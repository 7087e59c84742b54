"""The server as a process of its own: started, asked, changed, killed at any moment, and started again.

SIMCOMPLETE_KILLS says how often it is killed; once here, for each start takes seconds.
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

import pytest

from serve.conftest import P

KILLS = int(os.environ.get("SIMCOMPLETE_KILLS", "1"))
pytest.importorskip("uvicorn")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        headers = {"content-type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


class Server:
    def __init__(self, folder):
        self.port = free_port()
        command = [sys.executable, "-m", "simcomplete", "serve", str(folder), "--port", str(self.port), "--quiet"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            try:
                if ask(self.port, "GET", "/readyz")[0] == 200:
                    return
            except OSError:
                assert self.process.poll() is None, self.process.stderr.read()
                time.sleep(0.05)
        raise AssertionError("the server does not start")

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait(30)
        self.process.stderr.close()
        return code


def test_killed_at_any_moment_every_acknowledged_change_is_there(model, tmp_path):
    model.save(tmp_path / "m")
    expected, chance, pair = {f"row {i}" for i in range(60)}, random.Random(0), 0
    for _ in range(KILLS):
        server = Server(tmp_path / "m")
        timer = threading.Timer(chance.uniform(0.05, 0.6), server.process.kill)
        timer.start()
        doubtful = None
        try:
            while True:
                pair += 1
                both = [f"{pair} a", f"{pair} b"]
                doubtful = both, expected & {f"row {pair % 60}"}
                status, _ = ask(server.port, "PUT", "/v1/candidates", {"rows": P[:2].tolist(), "ids": both})
                assert status == 200
                expected |= set(both)
                if doubtful[1]:
                    gone = sorted(doubtful[1])
                    assert ask(server.port, "DELETE", "/v1/candidates", {"ids": gone})[0] == 200
                    expected -= doubtful[1]
                doubtful = None
        except (OSError, http.client.HTTPException):
            pass
        timer.join()
        server.end(signal.SIGKILL)
        server = Server(tmp_path / "m")
        _, about = ask(server.port, "GET", "/v1/model")
        found = ask(server.port, "POST", "/v1/search", {"rows": [P[0].tolist()], "k": min(about["n_candidates"], 1000)})
        ids = set(found[1]["ids"][0])
        # What was under way when it was killed is there as a whole, or not at all.
        if doubtful is not None:
            put, gone = set(doubtful[0]), doubtful[1]
            assert put <= ids or not put & ids
            expected = (expected - put) | (put & ids)
            expected -= {key for key in gone if key not in ids}
        assert ids == expected
        assert server.end(signal.SIGTERM) == 0


def test_refused_before_it_listens(model, tmp_path):
    model.save(tmp_path / "m")
    command = [sys.executable, "-m", "simcomplete", "serve"]
    for more, words in [
        ([str(tmp_path / "m"), "--host", "0.0.0.0"], "--token-file"),
        ([str(tmp_path / "nothing")], "does not exist"),
        ([str(tmp_path)], "not a saved"),
    ]:
        done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
