"""Who is called back: takes everything, except what is posted to /gone."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(410 if self.path == "/gone" else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Receiver:
    def __init__(self):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
