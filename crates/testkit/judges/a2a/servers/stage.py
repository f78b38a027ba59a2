"""Where a server in Python plays: it listens on a free port of this machine and prints the port, then reads one line,
the URL by which it will be called and which its card must name. Each further line releases one `count`, see
`script.py`. It is gone when its input is closed."""

import os
import socket
import sys
import threading

import uvicorn

releases = threading.Semaphore(0)


def tell(word):
    """Says something to the test."""
    print(word, flush=True)


def _hear():
    for _ in sys.stdin:
        releases.release()
    os._exit(0)


def listen():
    """The socket, and the URL without a slash at its end."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    tell(listener.getsockname()[1])
    url = sys.stdin.readline().strip()
    threading.Thread(target=_hear, daemon=True).start()
    return listener, url


def play(app, listener):
    """Serves until the input is closed. Nobody waits for streams that are open then."""
    config = uvicorn.Config(app, log_level="error", timeout_keep_alive=60)
    uvicorn.Server(config).run(sockets=[listener])
