"""The process that sends journals to the MLflow store, so that training never waits for it.

One sender at a time serves a project: the first that a stage, or a flow, starts. It tails every journal in the folder,
those of dead processes too, which is how the next start sends what an earlier one could not. It ends when its owner says
so, and at once when its owner dies. Only `SenderProcess` starts `python -m stemma.adapters.sender`.
"""

import fcntl
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from stemma.adapters.delivery import Delivery
from stemma.adapters.journal import JOURNALS, JournalReader
from stemma.adapters.store import MlflowStore, Store, StoreDown, tracking_uri

__all__ = ["Sender", "SenderProcess", "main", "open_sender"]

POLL_SECONDS: Final = 1.0
FLUSH_SECONDS: Final = 10.0
_LONGEST_PAUSE: Final = 15.0
_LAST_SECONDS: Final = 60.0
_BIRTH_SECONDS: Final = 60.0
_DONE: Final = b"done\n"
_LIMITS: Final = {  # MLflow's own would hold a request for minutes
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "0",
    "OMP_NUM_THREADS": "1",
}
_log = logging.getLogger(__name__)


class Sender:
    """Sends the journals of a folder, in rounds."""

    def __init__(self, folder: Path, open_store: Callable[[], Store]) -> None:
        self._folder, self._open_store = folder, open_store
        self._store: Store | None = None
        self._deliveries: dict[Path, Delivery] = {}
        self._backlog = {path for path in folder.glob("*.jsonl") if not JournalReader(path).writer_lives()}
        self._settled: set[Path] = set()
        self._warned: set[str] = set()

    def serve(self, stop: threading.Event, poll: float = POLL_SECONDS) -> bool:
        """Send until told to stop, then once more; whether all of it arrived."""
        failures = 0
        while True:
            last = stop.is_set()
            sent = self.send()
            if last:
                return sent
            failures = 0 if sent else failures + 1
            stop.wait(min(_LONGEST_PAUSE, poll * 2**failures))

    def send(self) -> bool:
        """One round over all journals; whether the store took what there was."""
        try:
            for delivery in self._open_deliveries():
                if delivery.advance(self._connect()):
                    self._settle(delivery)
        except StoreDown as error:
            self._warn(
                "down",
                f"the MLflow store at {tracking_uri()} does not answer ({error}); the work goes on, its record is kept in"
                f" {self._folder} and is sent when the store is back, at the latest by the next start",
            )
            return False
        return True

    def _open_deliveries(self) -> list[Delivery]:
        paths = [path for path in sorted(self._folder.glob("*.jsonl")) if path not in self._settled]
        self._deliveries = {path: self._deliveries.get(path) or Delivery(path) for path in paths}
        return list(self._deliveries.values())

    def _connect(self) -> Store:
        if self._store is None:
            try:
                self._store = self._open_store()
            except Exception as error:
                raise StoreDown(str(error)) from error
        return self._store

    def _settle(self, delivery: Delivery) -> None:
        """Remove a journal that has arrived whole; one with refused values stays for the next start, and then aside."""
        path = delivery.path
        self._settled.add(path)
        if not delivery.refused:
            path.unlink()
            return
        if path in self._backlog:
            path = path.rename(path.with_suffix(".refused"))
        what = f"{len(delivery.refused)} values ({delivery.refused[0]})"
        self._warn("refused", f"the MLflow store refuses {what}; they are kept in {path}")

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            _log.warning("tracking: %s", text)


class SenderProcess:
    """A stage's, or a flow's, hold on a sender: its own, or one that is running already."""

    def __init__(self, folder: Path = JOURNALS) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None

    def start(self) -> None:
        """Start a sender unless there is one."""
        with _lock(self._folder) as free:
            pass
        if free:
            command = [sys.executable, "-m", "stemma.adapters.sender", str(self._folder)]
            environment = {**os.environ, **_LIMITS}
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
            self._process = subprocess.Popen(command, env=environment, **pipes)
            # its words pass through us: with our own stderr in its hands, who reads that would wait for its end, not ours
            self._listener = threading.Thread(target=_pass_on, args=[self._process.stderr], daemon=True)
            self._listener.start()

    def finish(self, seconds: float = FLUSH_SECONDS) -> None:
        """Have everything sent and the sender end; one that takes longer is left to itself, and to its own limit."""
        if self._process is None or self._process.poll() is not None:
            self.start()  # the sender that served us has gone with its owner
        if self._process is None:
            return  # another one serves us and will go on
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(_DONE)
            self._process.stdin.flush()
            self._process.stdin.close()
        assert self._listener is not None
        try:
            self._process.wait(seconds)
            self._listener.join(1.0)
        except subprocess.TimeoutExpired:
            _log.warning(
                "tracking: MLflow is slow to take the record; it goes on, and what is left stays in %s", self._folder
            )


@contextmanager
def open_sender(folder: Path = JOURNALS) -> Iterator[None]:
    """One sender for all stages below a flow, so that each need not start its own and wait for it."""
    process = SenderProcess(folder)
    _attempt(process.start)
    try:
        yield
    finally:
        _attempt(process.finish)


def _attempt(action: Callable[[], None]) -> None:
    try:
        action()
    except OSError as error:
        _log.warning("tracking: runs stay in their journals for now: %s", error)


def main() -> None:
    """Serve the folder named on the command line until the owner says `done`."""
    folder = Path(sys.argv[1])
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    logging.raiseExceptions = False  # where the owner has gone, nobody listens
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides
    os.nice(5)
    with _lock(folder) as free:
        if not free:
            return
        _remove_stillborn(folder)
        stop = threading.Event()
        threading.Thread(target=_watch_owner, args=[stop], daemon=True).start()
        Sender(folder, MlflowStore).serve(stop)


def _pass_on(stream: IO[bytes]) -> None:
    with stream:
        for line in stream:
            _log.warning("%s", line.decode(errors="replace").rstrip())


def _watch_owner(stop: threading.Event) -> None:
    """Wait for the owner's word, then for the sender's last round, but not for ever.

    An owner that ends without a word was killed: the next start will see to the rest.
    """
    if sys.stdin.buffer.readline() != _DONE:
        os._exit(0)
    stop.set()
    time.sleep(_LAST_SECONDS)
    os._exit(0)


def _remove_stillborn(folder: Path) -> None:
    """Remove journals whose writers died before their first line."""
    for path in folder.glob("*.jsonl"):
        if path.stat().st_size == 0 and time.time() - path.stat().st_mtime > _BIRTH_SECONDS:
            path.unlink()


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Try to be the folder's sender for as long as the block runs."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "sender.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = True
    except BlockingIOError:
        free = False
    try:
        yield free
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    main()
