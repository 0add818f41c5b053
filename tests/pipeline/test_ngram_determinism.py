"""N-gram models made in other processes: equal bytes whatever the memory and threads, and memory that does not grow."""

import json
import os
import subprocess
import sys
from pathlib import Path

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
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps([digest_tree([out]), int(status["VmHWM"].split()[0]) << 10]))
"""


def train(corpus: Path, out: Path, *, memory: int, threads: int, hash_seed: int = 0) -> tuple[str, int]:
    """Make a model in a process of its own: the digest of its folder, and the process's peak memory in bytes."""
    environment = {
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONPATH": str(ROOT),
        "STEMMA_DATA_THREADS": str(threads),
        "STEMMA_MEMORY_LIMIT": str(memory << 20),
    }
    command = [sys.executable, "-c", TRAIN, str(corpus), str(out)]
    done = subprocess.run(
        command, env={**os.environ, **environment}, cwd=ROOT, check=True, capture_output=True, text=True
    )
    digest, peak = json.loads(done.stdout)
    return digest, peak


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
        train(corpus, tmp_path / f"model-{number}", memory=memory, threads=threads, hash_seed=number)[0]
        for number, (memory, threads) in enumerate([(256, 1), (1, 1), (3, 4)])
    }
    assert len(digests) == 1


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    peaks = []
    for name, num_tokens in (("x1", 200_000), ("x10", 2_000_000)):
        corpus = save_random_corpus(tmp_path / name, num_tokens)
        peaks.append(train(corpus, tmp_path / name / "model", memory=16, threads=2)[1])
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 1 << 30
