"""Shared code of the Python judges of the A2A door: arguments, reports, and a receiver of push notifications.

The text of a message selects the agents' behaviour:

    hello    streams "Hello, " and "world"
    count    streams "1 " to "10 ", waits for a message `release` to the same agent, streams "11 " to "20 "
    release  continues all waiting `count`
    work     streams until cancelled
    ask      asks "Which colour?", then streams "You said: " and the answer
    file     streams the bytes of the message's file in hex, and sends a file with the bytes reversed
"""

import argparse
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from jwt import PyJWKSet

# Timeout for expected events. Long, since only a failing judge reaches it.
SOON = 20
HELLO = "Hello, world"
COUNT = "".join(f"{number} " for number in range(1, 21))
NOBODY = "00000000-0000-4000-8000-000000000000"
QUESTION = "Which colour?"
ANSWER = "You said: blue"
# Contents of files: bytes that are no text, and a text that is valid base64.
FILES = [bytes([255, 216, 255, 224]), b"aGVsbG8x"]


class Broken(Exception):
    """A broken promise."""


def arguments(transports):
    """The agents to call, with their support of questions and files, and the transports."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", action="append", default=[], metavar="URL")
    parser.add_argument("--asking", action="append", default=[], metavar="URL", help="agents that can ask")
    parser.add_argument("--filing", action="append", default=[], metavar="URL", help="those that get files")
    parser.add_argument("--transports", action="append", required=True, choices=transports)
    return parser.parse_args()


def step(name):
    print(f"  {name}", flush=True)


def check(is_kept, promise, came):
    if not is_kept:
        raise Broken(f"{promise}\n  got {came!r}")


def same(came, expected, promise):
    if came != expected:
        raise Broken(f"{promise}\n  expected {expected!r}\n  got      {came!r}")


def connections():
    """A separate HTTP client. Without certificates, which load slowly and aren't needed on loopback."""
    return httpx.AsyncClient(timeout=SOON, verify=False)


def published_key(kid, jku):
    """The key that signs a hub's cards."""
    return PyJWKSet.from_dict(httpx.get(jku, timeout=SOON, verify=False).json())[kid]


class Receiver:
    """A receiver of push notifications: puts (headers, body) of each into its queue."""

    def __init__(self):
        told = self.told = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                told.put((self.headers, json.loads(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/told"
        # Checks every 10 ms for a shutdown.
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def next(self):
        try:
            return self.told.get(timeout=SOON)
        except queue.Empty:
            raise Broken("the receiver is told of the task\n  got nothing") from None

    def close(self):
        self.server.shutdown()
        self.server.server_close()
