"""How time and memory grow with the text: ×1, ×3 and ×10 of distinct prose, for every stage from a source to n-gram counts.

Each stage runs in a process of its own, in turns with the other sizes; a time is the median of the rounds, from the call of the
stage to its end, so without Python's imports. A peak is the most that the process and its children held together.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any, Final

from benchmarks.corpora import ROOT, kind_of_prose, prose_project, run_stages
from benchmarks.harness import ROUNDS, timed, write_result

BYTES: Final = 14_000_000  # of the smallest text: enough to fill every buffer
SCALES: Final = (1, 3, 10)
STAGES: Final = ("ingest", "clean", "tokenize", "ngram")
ENVIRONMENT: Final = {"STEMMA_DATA_THREADS": "2", "STEMMA_MEMORY_LIMIT": str(64 << 20), "OMP_NUM_THREADS": "1"}
PLOT: Final = ROOT / "docs/performance-scaling.svg"


def main(folder: Path) -> None:
    """Measure, keep and draw."""
    projects = {scale: prose_project(folder, scale * BYTES) for scale in SCALES}
    tokenizer = projects[1] / "tokenizer"  # one for all
    if not tokenizer.exists():
        run_stages(projects[1], "ingest", "clean", "tokenizer")
    seconds: dict[str, dict[int, list[float]]] = {stage: {scale: [] for scale in SCALES} for stage in STAGES}
    peaks: dict[str, dict[int, list[float]]] = {stage: {scale: [] for scale in SCALES} for stage in STAGES}
    for _ in range(ROUNDS):
        for stage in STAGES:
            for scale in SCALES:
                elapsed, peak = measure(stage, projects[scale], tokenizer)
                seconds[stage][scale].append(elapsed)
                peaks[stage][scale].append(peak)
                print(f"  scaling: {stage} ×{scale}: {elapsed:.2f} s, {peak:.0f} MB", flush=True)
    stages = {stage: summary(seconds[stage], peaks[stage]) for stage in STAGES}
    write_result("scaling", {"text": kind_of_prose(), "megabytes": BYTES / 1e6, "rounds": ROUNDS, "stages": stages})
    draw(stages, PLOT)


def summary(seconds: dict[int, list[float]], peaks: dict[int, list[float]]) -> dict[str, dict[str, float]]:
    """By scale: median time and peak, and both relative to the smallest text (a time also to its size)."""
    smallest = SCALES[0]
    time_of = {scale: statistics.median(values) for scale, values in seconds.items()}
    peak_of = {scale: statistics.median(values) for scale, values in peaks.items()}
    return {
        str(scale): {
            "seconds": time_of[scale],
            "megabytes": peak_of[scale],
            "time_to_linear": time_of[scale] / (scale * time_of[smallest]),
            "memory_to_smallest": peak_of[scale] / peak_of[smallest],
        }
        for scale in SCALES
    }


def measure(stage: str, project: Path, tokenizer: Path) -> tuple[float, float]:
    """Seconds of a stage, and the peak of its processes in MB."""
    command = [sys.executable, "-m", "benchmarks.scaling", stage, str(project), str(tokenizer)]
    peak = 0
    environment = {**os.environ, **ENVIRONMENT}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as running:
        while running.poll() is None:
            peak = max(peak, tree_bytes(running.pid))
            time.sleep(0.02)
        assert running.stdout is not None
        assert running.returncode == 0, stage
        return float(running.stdout.read().splitlines()[-1]), peak / 1e6


def tree_bytes(process: int) -> int:
    """What a process and its descendants hold; a page that several share counts once."""
    total = 0
    with suppress(OSError, IndexError):  # it ended meanwhile
        folder = Path(f"/proc/{process}")
        total = 1024 * int((folder / "smaps_rollup").read_text().split("\nPss:")[1].split()[0])
        for child in (folder / "task" / str(process) / "children").read_text().split():
            total += tree_bytes(int(child))
    return total


def run_stage(stage: str, tokenizer: Path) -> None:
    """One stage's work, in this process and the working folder; the time is what it prints last."""
    from stemma.config import load_params
    from stemma.progress import NullProgress
    from stemma.stages import clean, ingest, tokenize

    params, progress = load_params(Path("params.yaml")), NullProgress()
    work: dict[str, Any] = {
        "ingest": lambda: ingest.run(params, progress, external=Path("external"), out=Path("raw")),
        "clean": lambda: clean.run(params, progress, corpora=Path("raw"), out=Path("clean")),
        "tokenize": lambda: tokenize.run(
            progress, corpus=Path("clean/sample"), tokenizer=tokenizer, out=Path("tokens")
        ),
        "ngram": lambda: count(Path("tokens/train"), tokenizer),
    }
    print(timed(work[stage]))


def count(tokens: Path, tokenizer: Path) -> None:
    """Counts of n-grams up to order 5, on disk."""
    from stemma.data.token_store import TokenStore
    from stemma.data.workspace import data_threads, open_workspace
    from stemma.families.ngram.counts import count_ngrams
    from stemma.families.ngram.family import read_symbols

    blocks = ((shard.ids, shard.sentences) for shard in TokenStore.open(tokens).shards())
    with open_workspace("bench") as workspace:
        memory, threads = workspace.memory_limit, data_threads()
        count_ngrams(blocks, read_symbols(tokenizer), 5, workspace.folder / "counts", memory=memory, threads=threads)


def draw(stages: dict[str, dict[str, dict[str, float]]], path: Path) -> None:
    """Time and memory by the size of the text; the same figures give the same bytes."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "stemma", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot

    figure, (times, peaks) = pyplot.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    sizes = [scale * BYTES / 1e6 for scale in SCALES]
    for stage, found in stages.items():
        for axes, value in ((times, "seconds"), (peaks, "megabytes")):
            axes.plot(sizes, [found[str(scale)][value] for scale in SCALES], marker="o", label=stage)
    for stage, found in stages.items():
        first = found[str(SCALES[0])]["seconds"]
        times.plot(
            sizes,
            [first * scale for scale in SCALES],
            color="grey",
            linewidth=0.8,
            linestyle=":",
            label="linear" if stage == STAGES[-1] else None,
        )
    times.set(xscale="log", yscale="log", xlabel="text, MB", ylabel="time, s")
    peaks.set(xscale="log", xlabel="text, MB", ylabel="peak memory, MB")
    peaks.set_ylim(bottom=0)
    for axes in (times, peaks):
        axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
        axes.minorticks_off()
    times.legend()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        with chdir(sys.argv[2]):
            run_stage(sys.argv[1], Path(sys.argv[3]))
    else:
        main(Path(tempfile.gettempdir()) / "stemma-bench")
