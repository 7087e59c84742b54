"""Starts servers by forking, so that a test can kill twenty of them: all is imported once, and nothing runs before.

Reads from standard input, a line each: the arguments of `simcomplete serve` as a JSON list. Prints the process id.
"""

import json
import os
import signal
import sys

import simcomplete._load
import simcomplete._serve.server  # noqa: F401
from simcomplete._cli import app, main  # noqa: F401


def serve():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who ends is not waited for
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)
            sys.argv = ["simcomplete", "serve", *json.loads(line)]
            main()
            os._exit(1)
        print(child, flush=True)


if __name__ == "__main__":
    serve()
