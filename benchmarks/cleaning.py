"""Ingesting and cleaning, MB of text per second: ours against the same steps with `datasets.map` and datasketch.

Both sides read the same JSON lines, bring the text into normal form, drop short documents, exact duplicates and near ones
(MinHash of 128 permutations over runs of 5 words, at a similarity of 0.8), split what is left into sentences and write parquet
files. Theirs calls our own functions for the normal form and the sentences, in two processes. One document in twenty is
planted: a copy, or a copy with one word changed; both sides must keep the same documents.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.corpora import kind_of_prose, prose_project
from benchmarks.harness import compare, write_result
from stemma.config import load_params
from stemma.data.splits import SPLITS
from stemma.progress import NullProgress
from stemma.stages import clean, ingest
from stemma.text.leftovers import strip_leftovers
from stemma.text.normalise import normalise
from stemma.text.sentences import split_sentences

CORES = 2
NUM_BYTES = 12_000_000
PERMUTATIONS, SHINGLE, THRESHOLD, MIN_WORDS = 128, 5, 0.8, 20


def main(folder: Path) -> None:
    """Measure and keep."""
    os.environ["STEMMA_DATA_THREADS"] = str(CORES)
    project = planted(prose_project(folder, NUM_BYTES), folder / "planted")
    kept: dict[str, set[str]] = {}
    result = compare(
        "cleaning",
        our_side(project, kept),
        their_side(project, kept),
        work=f"ingest and clean, {kind_of_prose()}",
        against=f"datasets.map, num_proc={CORES}, and datasketch",
        unit="MB/s",
        floor=3.0,
        aim=5.0,
    )
    assert kept["ours"] == kept["theirs"]
    write_result(result.name, result)


def planted(source: Path, project: Path) -> Path:
    """The same project with some documents a second time."""
    if not project.exists():
        (project / "external").mkdir(parents=True)
        shutil.copy(source / "params.yaml", project)
        with (
            (source / "external/prose.jsonl").open(encoding="utf-8") as lines,
            (project / "external/prose.jsonl").open("w", encoding="utf-8") as file,
        ):
            for number, line in enumerate(lines):
                file.write(line)
                if number % 40 == 0:
                    file.write(line)
                if number % 40 == 20:
                    first, _, rest = json.loads(line)["text"].partition(" ")
                    file.write(json.dumps({"text": f"{first}ly {rest}"}, ensure_ascii=False) + "\n")
    return project


def our_side(project: Path, kept: dict[str, set[str]]) -> Callable[[], float]:
    """The two stages."""
    num_bytes = (project / "external/prose.jsonl").stat().st_size
    params = load_params(project / "params.yaml")

    def run() -> float:
        with chdir(project):
            begun = time.perf_counter()
            ingest.run(params, NullProgress(), external=Path("external"), out=Path("raw"))
            clean.run(params, NullProgress(), corpora=Path("raw"), out=Path("clean"))
            elapsed = time.perf_counter() - begun
        paths = [path for split in SPLITS for path in (project / "clean/sample" / split).glob("*.parquet")]
        kept["ours"] = fingerprints(paths)
        return num_bytes / 1e6 / elapsed

    return run


def their_side(project: Path, kept: dict[str, set[str]]) -> Callable[[], float]:
    """A data set mapped, filtered and written, as a user would write it."""
    import datasets
    from datasketch import MinHashLSH

    datasets.disable_progress_bars()
    path = project / "external/prose.jsonl"

    def run() -> float:
        with tempfile.TemporaryDirectory() as cache:
            begun = time.perf_counter()
            data: Any = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=cache)
            data = data.map(normal_form, num_proc=CORES)
            data = data.filter(is_long, num_proc=CORES)
            data = data.filter(is_first, fn_kwargs={"seen": set()})
            data = data.map(add_signature, num_proc=CORES)
            index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
            data = data.with_format("numpy", columns=["signature"], output_all_columns=True)
            chosen = [number for number, row in enumerate(data) if is_new(index, number, row["signature"])]
            data = data.with_format(None).remove_columns("signature").select(chosen)
            data = data.map(add_sentences, remove_columns="text", num_proc=CORES)
            data.to_parquet(f"{cache}/clean.parquet")
            elapsed = time.perf_counter() - begun
            kept["theirs"] = fingerprints([Path(cache, "clean.parquet")])
        return path.stat().st_size / 1e6 / elapsed

    return run


def normal_form(row: dict[str, str]) -> dict[str, str]:
    """The text as our own stage has it."""
    return {"text": normalise(strip_leftovers(normalise(row["text"], "NFC")), "NFC")}


def is_long(row: dict[str, str]) -> bool:
    """Whether a document has as many words as the settings ask for."""
    return len(row["text"].split()) >= MIN_WORDS


def is_first(row: dict[str, str], seen: set[str]) -> bool:
    """Whether a document's text was not seen before."""
    known = row["text"] in seen
    seen.add(row["text"])
    return not known


def add_signature(row: dict[str, str]) -> dict[str, Any]:
    """MinHash over runs of words."""
    words = row["text"].lower().split()
    runs = {" ".join(words[at : at + SHINGLE]).encode() for at in range(max(1, len(words) - SHINGLE + 1))}
    signature = empty_signature().copy()
    signature.update_batch(runs)
    return {"signature": signature.hashvalues}


@cache
def empty_signature() -> Any:
    """Made once a process: its permutations take as long to draw as those of a page take to apply."""
    from datasketch import MinHash

    return MinHash(num_perm=PERMUTATIONS)


def is_new(index: Any, number: int, signature: Any) -> bool:
    """Whether no document so far is like this one, which is then put into the index."""
    own = empty_signature().copy()
    own.hashvalues = signature
    if index.query(own):
        return False
    index.insert(number, own)
    return True


def add_sentences(row: dict[str, str]) -> dict[str, list[str]]:
    """The sentences as our own stage has them."""
    return {"sentences": split_sentences(row["text"])}


def fingerprints(paths: list[Path]) -> set[str]:
    """Documents by what a copy with its first word changed has in common with the original: all but the first sentence."""
    tables = [pq.read_table(path, columns=["sentences"]) for path in paths]
    return {" ".join(sentences[1:]) for table in tables for sentences in table["sentences"].to_pylist()}


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
