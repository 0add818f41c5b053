"""N-gram models made in other processes: equal bytes whatever the memory and threads, and memory that does not grow."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemma.data.token_store import TokenStoreWriter
from tests.toy_ngrams import FIRST_WORD, save_tokenizer

ROOT = Path(__file__).parents[2]
TRAIN = """
import json, sys
from pathlib import Path
from stemma.files import digest_tree
from tests.toy_ngrams import pretrain, settings

corpus, out = Path(sys.argv[1]), Path(sys.argv[2])
pretrain(corpus / "tokens", corpus / "tokenizer", settings("kneser-ney", 3), out)
print(json.dumps(digest_tree([out])))
"""
COUNT = """
import json, sys
from pathlib import Path
from stemma.data.ngram_counts import count_ngrams
from stemma.data.token_store import TokenStore
from stemma.data.workspace import data_threads, memory_limit
from stemma.families.ngram import choose_smoothing, read_symbols
from stemma.families.ngram_estimation import estimate
from stemma.families.ngram_model import save_model
from tests.toy_ngrams import settings

corpus, out = Path(sys.argv[1]), Path(sys.argv[2])
out.mkdir()
memory, threads, symbols = memory_limit(), data_threads(), read_symbols(corpus / "tokenizer")
blocks = ((shard.ids, shard.sentences) for shard in TokenStore.open(corpus / "tokens" / "train").shards())
counts = count_ngrams(blocks, symbols, 3, out / "counts", memory=memory, threads=threads)
smoothing, details = choose_smoothing(settings("kneser-ney", 3), counts, memory)
estimates = estimate(counts, smoothing, memory=memory, threads=threads)
save_model(out, counts, estimates, backs_off=True, details=details)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps(int(status["VmHWM"].split()[0]) << 10))
"""


def run(script: str, corpus: Path, out: Path, **environment: str) -> Any:
    """What a script says, in a process of its own."""
    command = [sys.executable, "-c", script, str(corpus), str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def save_random_corpus(folder: Path, num_tokens: int, num_words: int = 5000) -> Path:
    """Text in which all of it is new: words drawn by Zipf's law, from a seed."""
    rng = np.random.default_rng(1)
    save_tokenizer(folder / "tokenizer", (f"w{number}" for number in range(num_words)))
    for split, size in (("train", num_tokens), ("validation", 1000)):
        with TokenStoreWriter(folder / "tokens" / split, np.dtype(np.uint16), tokens_per_shard=100_000) as writer:
            for _ in range(0, size, 1000):
                words = np.floor(num_words ** rng.random(1000)).astype(np.uint16) - 1
                writer.add(words + np.uint16(FIRST_WORD), np.full(50, 20, np.int64), 6000)
    return folder


def test_processes_memory_and_threads_leave_no_trace(tmp_path: Path) -> None:
    corpus = save_random_corpus(tmp_path / "corpus", 60_000)
    digests = {
        run(
            TRAIN,
            corpus,
            tmp_path / f"model-{number}",
            STEMMA_MEMORY_LIMIT=str(memory << 20),
            STEMMA_DATA_THREADS=str(threads),
            PYTHONHASHSEED=str(number),
        )
        for number, (memory, threads) in enumerate([(256, 1), (1, 1), (3, 4)])
    }
    assert len(digests) == 1


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """Counting, smoothing and writing; to score text, a model is mapped as a whole."""
    peaks = []
    for name, num_tokens in (("x1", 200_000), ("x10", 2_000_000)):
        corpus = save_random_corpus(tmp_path / name, num_tokens)
        limits = {"STEMMA_MEMORY_LIMIT": str(16 << 20), "STEMMA_DATA_THREADS": "2"}
        peaks.append(run(COUNT, corpus, tmp_path / name / "model", **limits))
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 1 << 30
