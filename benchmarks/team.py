"""Two processes of one thread against one process of two threads, on the same batches: tokens per second of pretraining."""

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.corpora import tokenized_sample
from benchmarks.harness import compare, write_result
from benchmarks.pretraining import SETTINGS, matrix_share
from stemma.families.base import Pretraining
from stemma.families.bert.family import FAMILY, BertSettings
from stemma.progress import NullProgress
from stemma.training.tracker import NullTracker

STEPS = 14
FIRST = 4  # steps before the clock runs: processes start, memory is taken


class Clock(NullProgress):
    """When each step was done."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def update(self, done: int, values: Mapping[str, float] | None = None) -> None:  # noqa: ARG002
        """Note the time."""
        self.times.append(time.perf_counter())


def side(project: Path, *, processes: int, threads: int) -> Callable[[], float]:
    """A whole small pretraining, of which the later steps are timed."""
    changes = {"processes": processes, "threads": threads, "steps": STEPS, "checkpoint_every": 1_000_000}
    settings = BertSettings(**SETTINGS | changes)

    def run() -> float:
        clock = Clock()
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            out.mkdir()
            metrics = FAMILY.pretrain(
                Pretraining(
                    tokens=project / "tokens",
                    tokenizer=project / "tokenizer",
                    settings=settings,
                    seed=1,
                    scratch=Path(folder) / "scratch",
                    out=out,
                    tracker=NullTracker(),
                    progress=clock,
                )
            )
        timed = (STEPS - FIRST) / STEPS  # batches have almost equally many tokens
        return metrics["tokens"] * timed / (clock.times[STEPS - 1] - clock.times[FIRST - 1])

    return run


def main(folder: Path) -> None:
    """Measure and keep."""
    project = tokenized_sample(folder, 8000)
    result = compare(
        "team",
        side(project, processes=2, threads=1),
        side(project, processes=1, threads=2),
        work="BERT pretraining by 2 processes × 1 thread",
        against="1 process × 2 threads",
        unit="tokens/s",
        floor=0.95,
        aim=1.0,
    )
    write_result(result.name, result)
    run = side(project, processes=2, threads=1)
    share = matrix_share(
        project, run, name="matrix-share-8k-team", work="BERT pretraining, vocabulary 8,000, 2 processes × 1 thread"
    )
    write_result("matrix-share-8k-team", share)


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
