import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stemma.data.workers import BYTES_UNDER_WAY, Batch, in_batches, open_workers


def square(numbers: list[int]) -> list[int]:
    return [number * number for number in numbers]


def fail(numbers: list[int]) -> list[int]:
    raise ValueError(f"can't do {numbers}")


def small(texts: list[str]) -> list[str]:
    return [text[:2] for text in texts]


def process_id(_: list[int]) -> int:
    return os.getpid()


@pytest.mark.parametrize("num_processes", [1, 3])
def test_results_come_in_the_order_of_the_batches(num_processes: int) -> None:
    with open_workers(num_processes) as workers:
        found = list(workers.map(square, in_batches(range(100), size_of=lambda _: 1, limit=7)))
        assert [number for batch in found for number in batch] == [number * number for number in range(100)]
        assert list(workers.map(square, [Batch([2], 1)])) == [[4]]  # and once more


@pytest.mark.parametrize("num_processes", [1, 2])
def test_texts_are_spread_over_the_processes(num_processes: int) -> None:
    texts = [str(number) * 1000 for number in range(100)]
    with open_workers(num_processes) as workers:
        assert list(workers.spread(small, texts)) == [text[:2] for text in texts]
        assert list(workers.spread(small, [])) == []


def test_one_process_is_this_one() -> None:
    with open_workers(1) as one, open_workers(2) as two:
        batches = [Batch([number], 1) for number in range(5)]
        assert set(one.map(process_id, batches)) == {os.getpid()}
        assert os.getpid() not in set(two.map(process_id, batches))


@pytest.mark.parametrize(("size", "ahead"), [(1, 2), (BYTES_UNDER_WAY, 1)])
def test_batches_are_read_no_faster_than_they_are_done(size: int, ahead: int) -> None:
    taken = []

    def batches() -> Iterator[Batch[int]]:
        for number in range(50):
            taken.append(number)
            yield Batch([number], size)

    with open_workers(2) as workers:
        for done, _ in enumerate(workers.map(square, batches()), start=1):
            assert len(taken) <= done + ahead


@pytest.mark.parametrize("num_processes", [1, 2])
def test_an_error_of_a_worker_is_raised_here(num_processes: int) -> None:
    with open_workers(num_processes) as workers, pytest.raises(ValueError, match="can't do"):
        list(workers.map(fail, [Batch([1], 1)]))


def test_a_batch_ends_with_the_item_that_fills_it() -> None:
    found = list(in_batches(["aa", "b", "cccc", "d"], size_of=len, limit=3))
    assert found == [Batch(["aa", "b"], 3), Batch(["cccc"], 4), Batch(["d"], 1)]
    assert list(in_batches([], size_of=len)) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_workers_die_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = (
        "import multiprocessing, time\n"
        "from stemma.data.workers import open_workers\n"
        "with open_workers(2):\n"
        "    print(*(child.pid for child in multiprocessing.active_children()), flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as parent:
        assert parent.stdout is not None
        children = parent.stdout.readline().split()
        parent.send_signal(signal.SIGKILL)
    assert len(children) == 2
    deadline = time.monotonic() + 10
    while any(is_alive(child) for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
