"""The receiver of callbacks: accepts everything except posts to /gone. It also serves the card of an A2A server."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(410 if self.path == "/gone" else 204)
        self.end_headers()

    def do_GET(self):
        way = {"protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        way["url"] = f"http://127.0.0.1:{self.server.server_port}/"
        card = json.dumps({"name": "elsewhere", "supportedInterfaces": [way]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(card)))
        self.end_headers()
        self.wfile.write(card)

    def log_message(self, *_):
        pass


class Receiver:
    def __init__(self):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
