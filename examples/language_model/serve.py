"""Serve the language model over HTTP; requests that overlap in time are computed as one batch.

    ./dev example language_model/serve
    ./dev example language_model/serve --port 8000
    curl -d '{"prompt": "def ", "tokens": 40}' localhost:8000

Without a port the server gets requests from this program, from several threads at once, and each
answer is compared with that of the model alone. Needs `./dev example language_model`.

Each text has a row of the cache. One thread computes: it gives free rows to waiting requests, then
the next byte of all rows in one call. A request joins while others are being answered.
"""

import dataclasses
import http.client
import http.server
import json
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from model import Cache, Transformer
from train import SMALL, arguments, read

import mlx.core as mx


@dataclasses.dataclass
class Request:
    """A prompt, and the bytes that follow as they are found."""

    prompt: bytes
    tokens: int
    text: bytearray = dataclasses.field(default_factory=bytearray)
    error: Exception | None = None
    done: threading.Event = dataclasses.field(default_factory=threading.Event)


class Engine:
    """Answers requests in one thread, up to `rows` at a time."""

    def __init__(self, model: Transformer, rows: int = 8) -> None:
        self.model, self.rows, self.largest = model, rows, 0
        self.waiting: queue.Queue[Request | None] = queue.Queue()
        self.active: dict[int, Request] = {}
        self.last = [0] * rows
        self.thread = threading.Thread(target=self.run)

    def start(self) -> None:
        """Begin to answer; requests may be waiting already."""
        self.thread.start()

    def answer(self, prompt: bytes, tokens: int) -> bytes:
        """The most likely continuation; called by any thread, waits until it is found."""
        if not 1 <= tokens < self.model.context:
            raise ValueError(f"tokens is {tokens}; accepted: 1 to {self.model.context - 1}")
        if not prompt:
            raise ValueError("the prompt is empty; at least one byte is needed")
        request = Request(prompt[tokens - self.model.context :], tokens)
        self.waiting.put(request)
        request.done.wait()
        if request.error:
            raise request.error
        return bytes(request.text)

    def stop(self) -> None:
        """End the thread once the requests before are answered."""
        self.waiting.put(None)
        self.thread.join()

    def run(self) -> None:
        """Admit and compute until told to stop."""
        self.cache, stopping = Cache(self.model, self.rows), False
        while not stopping or self.active:
            try:
                stopping = self.admit() or stopping
                if self.active:
                    self.compute()
            except Exception as error:  # for the waiting requests; later ones may succeed
                for request in self.active.values():
                    request.error = error
                    request.done.set()
                self.active, self.cache = {}, Cache(self.model, self.rows)

    def admit(self) -> bool:
        """Give free rows to waiting requests; waits if there is nothing else to do."""
        while len(self.active) < self.rows:
            try:
                request = self.waiting.get(block=not self.active)
            except queue.Empty:
                return False
            if request is None:
                return True
            row = next(row for row in range(self.rows) if row not in self.active)
            self.active[row] = request
            scores = self.model(mx.array(list(request.prompt))[None], self.cache, row)
            self.accept(row, mx.argmax(scores[0, -1]).item())
        return False

    def compute(self) -> None:
        """One more byte for each row in use; rows that are free stay at length 0."""
        self.largest = max(self.largest, len(self.active))
        used = mx.array([row in self.active for row in range(self.rows)])
        self.cache.lengths = mx.where(used, self.cache.lengths, 0)
        scores = self.model.next(mx.array(self.last), self.cache)
        for row, token in enumerate(mx.argmax(scores, axis=1).tolist()):
            if row in self.active:
                self.accept(row, token)

    def accept(self, row: int, token: int) -> None:
        """Add a byte to a row's text, which may be complete then."""
        request, self.last[row] = self.active[row], token
        request.text.append(token)
        if len(request.text) == request.tokens:
            del self.active[row]
            request.done.set()


def server(engine: Engine, port: int) -> http.server.ThreadingHTTPServer:
    """An HTTP server with a thread for each request; port 0 picks a free one."""

    class Handler(http.server.BaseHTTPRequestHandler):
        """POST of a JSON object with "prompt" and "tokens"."""

        def do_POST(self) -> None:
            """Answer with a JSON object."""
            try:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text = engine.answer(asked["prompt"].encode(), int(asked.get("tokens", 40)))
                status, reply = 200, {"text": text.decode(errors="backslashreplace")}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                status, reply = 400, {"error": f"{type(error).__name__}: {error}"}
            except Exception as error:
                status, reply = 500, {"error": f"{type(error).__name__}: {error}"}
            body = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    class Server(http.server.ThreadingHTTPServer):
        """With room for many connections that arrive at once."""

        daemon_threads, request_queue_size = True, 128

    return Server(("127.0.0.1", port), Handler)


def ask(port: int, prompt: str, tokens: int) -> tuple[int, dict]:
    """Send a request; the status and the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/", json.dumps({"prompt": prompt, "tokens": tokens}))
    reply = connection.getresponse()
    return reply.status, json.loads(reply.read())


def alone(model: Transformer, prompt: bytes, tokens: int) -> bytes:
    """The same continuation, one byte at a time without cache and batch."""
    text = bytearray(prompt)
    for _ in range(tokens):
        text.append(mx.argmax(model(mx.array(list(text))[None])[0, -1]).item())
    return bytes(text[len(prompt) :])


PROMPTS = [
    "def ",
    "class ",
    "import ",
    "    return ",
    "if ",
    "self.",
    "for i in ",
    "raise ",
    "x = ",
]


def compare(engine: Engine, model: Transformer, port: int, tokens: int) -> dict[str, float]:
    """Ask from nine threads at once, then compare with the model alone.

    The engine starts when all have asked, so that the first batch is full.
    """
    with ThreadPoolExecutor(len(PROMPTS)) as pool:
        asked = [pool.submit(ask, port, prompt, tokens) for prompt in PROMPTS]
        while engine.waiting.qsize() < len(PROMPTS) and not any(a.done() for a in asked):
            time.sleep(0.01)
        start = time.perf_counter()
        engine.start()
        answers = [a.result() for a in asked]
    together = time.perf_counter() - start
    same = 0
    for prompt, (status, answer) in zip(PROMPTS, answers, strict=True):
        expected = alone(model, prompt.encode(), tokens).decode(errors="backslashreplace")
        same += status == 200 and answer["text"] == expected
        print(f"{prompt!r} -> {answer.get('text', answer)!r}")
    print(
        f"{len(PROMPTS)} requests, {tokens} bytes each, in {together:.2f} s; up to {engine.largest}"
        f" texts in a batch; {same} answers are those of the model alone"
    )
    return {"requests": len(PROMPTS), "same": same, "largest batch": engine.largest}


def main(given: list[str] | None = None) -> dict[str, float]:
    """Serve on a port, or try the server out."""
    options = arguments(__doc__, given, port=0)
    mx.random.seed(options.seed)
    if options.quick:
        model = Transformer(**SMALL)
    elif (options.output / "model.safetensors").exists():
        model = read(options.output)
    else:
        raise SystemExit(f"no model in {options.output}: run ./dev example language_model first")
    mx.eval(model.parameters())
    engine = Engine(model)
    with server(engine, options.port) as listener:
        port = listener.server_address[1]
        print(f"serves on http://127.0.0.1:{port}")
        try:
            if options.port:
                engine.start()
                listener.serve_forever()
            thread = threading.Thread(target=listener.serve_forever)
            thread.start()
            found = compare(engine, model, port, 16 if options.quick else 40)
            found["status of an empty prompt"] = ask(port, "", 5)[0]
            listener.shutdown()
            thread.join()
        except KeyboardInterrupt:
            found = {}
        finally:
            engine.stop()
    return found


if __name__ == "__main__":
    main()
