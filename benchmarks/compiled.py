"""Our pretraining step with `torch.compile` around the loss, against the step as it is. Compiling is timed apart.

The masks of dropout come from numpy and the shapes of passes differ, so that a graph breaks at every mask; with dropout 0 there
is one graph. Both are measured. Needs a C++ compiler.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import torch

from benchmarks import pretraining
from benchmarks.corpora import tokenized_sample
from benchmarks.harness import compare, write_result
from stemma.families.bert.family import BertSettings
from stemma.families.bert.network import pretraining_loss
from stemma.layers.dropout import Masks


def main(folder: Path) -> None:
    """Measure and keep."""
    project = tokenized_sample(folder, 8000)
    for dropout in (0.1, 0.0):
        settings = BertSettings(**pretraining.SETTINGS | {"dropout": dropout})
        name = f"compiled-dropout-{dropout}"
        run, seconds = compiled_side(project, settings)
        result = compare(
            name,
            run,
            pretraining.our_side(project, settings),
            work=f"BERT pretraining through `torch.compile`, dropout {dropout} (compiled in {seconds:.0f} s)",
            against="our step as it is",
            unit="tokens/s",
            floor=0,
            aim=0,
        )
        write_result(name, result)


def compiled_side(project: Path, settings: BertSettings) -> tuple[Callable[[], float], float]:
    """Our loop with a compiled loss, and the seconds that its first call took more than its second."""
    loss = torch.compile(pretraining_loss, dynamic=True)
    draw = torch.compiler.disable(Masks.draw)  # type: ignore[no-untyped-call]  # else numpy's bits are taken for a tensor
    run = pretraining.our_side(project, settings)

    def compiled() -> float:
        with mock.patch.object(pretraining, "pretraining_loss", loss), mock.patch.object(Masks, "draw", draw):
            return run()

    times = []
    for _ in range(2):
        begun = time.perf_counter()
        compiled()
        times.append(time.perf_counter() - begun)
    return compiled, times[0] - times[1]


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
