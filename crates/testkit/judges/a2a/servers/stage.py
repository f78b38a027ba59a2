"""The listener of the servers in Python: listens on a free local port, prints the port, then reads a line with the public
URL for the card. Each further line releases one `count`, see `script.py`. The server exits when standard input is
closed."""

import os
import socket
import sys
import threading

import uvicorn

releases = threading.Semaphore(0)


def tell(word):
    """Prints a line for the test."""
    print(word, flush=True)


def _hear():
    for _ in sys.stdin:
        releases.release()
    os._exit(0)


def listen():
    """The socket, and the URL without a trailing slash."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    tell(listener.getsockname()[1])
    url = sys.stdin.readline().strip()
    threading.Thread(target=_hear, daemon=True).start()
    return listener, url


def play(app, listener):
    """Serves until standard input is closed, without waiting for open streams."""
    config = uvicorn.Config(app, log_level="error", timeout_keep_alive=60)
    uvicorn.Server(config).run(sockets=[listener])
