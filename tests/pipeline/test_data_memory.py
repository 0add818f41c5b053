"""Peak memory of the stages from a source to tokens: below 1 GB, and no more for ten times the text."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests import toy_corpora

DOCUMENTS = 2500  # about 2 MB of text: some row groups, so that all buffers are full with the smaller size too
STAGES = {
    "ingest": ["ingest", "--external", "external", "--out", "raw"],
    "clean": ["clean", "--corpora", "raw", "--out", "clean"],
    "tokenizer": ["tokenizer", "wordpiece", "--corpus", "clean/toy", "--out", "tokenizer"],
    "tokenize": ["tokenize", "wordpiece", "--corpus", "clean/toy", "--tokenizer", "tokenizer", "--out", "tokens"],
}


def prepare(root: Path, num_documents: int) -> None:
    """A project folder with so many distinct documents as JSON lines."""
    (root / "external").mkdir(parents=True)
    with (root / "external" / "toy.jsonl").open("w") as file:
        for text in toy_corpora.texts(num_documents, sentences=14):
            file.write(json.dumps({"text": text}) + "\n")
    source = {"kind": "files", "paths": ["external/toy.jsonl"], "format": "jsonl", "licence": "CC0"}
    params = toy_corpora.params(corpora={"toy": {"kind": "documents", "sources": {"toy": source}}})
    (root / "params.yaml").write_text(yaml.safe_dump(json.loads(params.model_dump_json())))


def peak_megabytes(root: Path, arguments: list[str]) -> float:
    """Run a stage and say how much memory its processes held together at most."""
    peak = 0
    with subprocess.Popen(
        [sys.executable, "-m", "stemma", *arguments], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        folder = Path(f"/proc/{running.pid}")
        while running.poll() is None:
            with suppress(OSError, IndexError):  # it ended meanwhile
                peak = max(peak, field(folder, "VmHWM") + sum(field(child, "VmRSS") for child in children(folder)))
            time.sleep(0.02)
        assert running.stderr is not None
        assert running.returncode == 0, running.stderr.read().decode()
    return peak / 1024


def field(process: Path, name: str) -> int:
    return int((process / "status").read_text().split(f"{name}:")[1].split()[0])  # in kB


def children(process: Path) -> list[Path]:
    own = [Path(f"/proc/{pid}") for pid in (process / "task" / process.name / "children").read_text().split()]
    return [descendant for child in own for descendant in (child, *children(child))]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads peaks from /proc")
def test_ten_times_the_text_takes_no_more_memory(tmp_path: Path) -> None:
    peaks: dict[int, dict[str, float]] = {}
    for scale in (1, 10):
        root = tmp_path / str(scale)
        prepare(root, scale * DOCUMENTS)
        peaks[scale] = {stage: peak_megabytes(root, arguments) for stage, arguments in STAGES.items()}
        report = json.loads((root / "clean/toy/report.json").read_text())
        assert sum(split["documents"] for split in report["written"].values()) == scale * DOCUMENTS  # all distinct
    for stage in STAGES:
        small, large = peaks[1][stage], peaks[10][stage]
        assert large < 1000, f"{stage}: {large:.0f} MB"
        assert large < 1.1 * small, f"{stage}: {small:.0f} MB, and {large:.0f} MB for ten times the text"
