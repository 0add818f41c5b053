"""Tokenizing a corpus to the token store, MB of text per second on two cores: ours against `datasets.map` and bare `tokenizers`.

All sides encode the same cleaned sentences of prose with the same WordPiece vocabulary, and come to the same ids. Ours reads
the corpus from parquet and writes a token store; `datasets.map` reads the sentences from an Arrow file and writes another, in
two processes; the bare library gets the sentences in a list and keeps nothing, in two threads.
"""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from benchmarks.corpora import fast_tokenizer, kind_of_prose, prose_project, run_stages, sample_sentences
from benchmarks.harness import compare, write_result
from stemma.data.token_store import TokenStore
from stemma.progress import NullProgress
from stemma.stages import tokenize

CORES = 2
NUM_BYTES = 12_000_000


def main(folder: Path) -> None:
    """Measure and keep."""
    os.environ |= {"RAYON_NUM_THREADS": str(CORES), "STEMMA_DATA_THREADS": str(CORES)}
    project = prose_project(folder, NUM_BYTES)
    if not (project / "tokenizer").exists():
        run_stages(project, "ingest", "clean", "tokenizer")
    work = f"tokenizing {kind_of_prose()} to the token store"
    bare = compare(
        "tokenizing-bare",
        our_side(project),
        bare_side(project),
        work=work,
        against=f"bare `tokenizers`, {CORES} threads, nothing read or written",
        unit="MB/s",
        floor=1 / 1.3,
        aim=1 / 1.3,
    )
    write_result(bare.name, bare)
    mapped = compare(
        "tokenizing",
        our_side(project),
        their_side(project),
        work=work,
        against=f"datasets.map(tokenizer, batched=True, num_proc={CORES})",
        unit="MB/s",
        floor=2.0,
        aim=3.0,
    )
    write_result(mapped.name, mapped)


def our_side(project: Path) -> Callable[[], float]:
    """The stage, for all splits."""

    def run() -> float:
        with chdir(project):
            begun = time.perf_counter()
            tokenize.run(NullProgress(), corpus=Path("clean/sample"), tokenizer=Path("tokenizer"), out=Path("tokens"))
            elapsed = time.perf_counter() - begun
        stores = (TokenStore.open(project / "tokens" / split) for split in ("train", "validation", "test"))
        return sum(store.num_bytes for store in stores) / 1e6 / elapsed

    return run


def bare_side(project: Path) -> Callable[[], float]:
    """One call of the library."""
    sentences = sample_sentences(project)
    num_bytes = sum(len(sentence.encode()) for sentence in sentences)
    tokenizer = Tokenizer.from_file(str(project / "tokenizer/tokenizer.json"))
    tokenizer.encode_special_tokens = True

    def run() -> float:
        os.environ["TOKENIZERS_PARALLELISM"] = "true"
        begun = time.perf_counter()
        encodings = tokenizer.encode_batch(sentences, add_special_tokens=False)
        elapsed = time.perf_counter() - begun
        check(project, lambda: (encoding.ids for encoding in encodings))
        return num_bytes / 1e6 / elapsed

    return run


def their_side(project: Path) -> Callable[[], float]:
    """A tokenizer of `transformers`, mapped over the sentences; no other columns than ids are made or kept."""
    import datasets

    datasets.disable_progress_bars()
    sentences = sample_sentences(project)
    num_bytes = sum(len(sentence.encode()) for sentence in sentences)
    tokenizer = fast_tokenizer(project / "tokenizer")

    def encode(rows: dict[str, list[str]]) -> Any:
        return tokenizer(
            rows["text"], add_special_tokens=False, return_attention_mask=False, return_token_type_ids=False
        )

    def run() -> float:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # two processes already
        with tempfile.TemporaryDirectory() as out:
            datasets.Dataset.from_dict({"text": sentences}).save_to_disk(f"{out}/sentences")
            data = datasets.Dataset.load_from_disk(f"{out}/sentences")
            begun = time.perf_counter()
            encoded = data.map(
                encode, batched=True, num_proc=CORES, remove_columns=["text"], load_from_cache_file=False
            )
            elapsed = time.perf_counter() - begun
            check(project, lambda: encoded.with_format("numpy")["input_ids"])
        return num_bytes / 1e6 / elapsed

    return run


def check(project: Path, sentences: Callable[[], Any]) -> None:
    """The other side's ids of the training split must be ours; sentences without any are in no store."""
    store = TokenStore.open(project / "tokens/train")
    ours = np.concatenate([shard.ids for shard in store.shards()])
    theirs = np.concatenate([np.asarray(ids, dtype=ours.dtype) for ids in sentences()])
    assert np.array_equal(ours, theirs)


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
