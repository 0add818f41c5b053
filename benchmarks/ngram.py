"""Training an n-gram model of order 5, tokens per second: ours against `nltk.lm.KneserNeyInterpolated`, its fit alone.

Both sides get the same sentences of the Wikipedia sample: ours as a token store on disk, theirs as lists of tokens in memory.
Ours counts, estimates modified Kneser-Ney and writes the model; nltk's fit only counts, and leaves the rest to each question.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from benchmarks.corpora import tokenized_sample
from benchmarks.harness import compare, write_result
from stemma.data.token_store import TokenStore
from stemma.data.workspace import memory_limit
from stemma.families.ngram.counts import count_ngrams
from stemma.families.ngram.estimation import estimate
from stemma.families.ngram.family import NgramSettings, choose_smoothing, read_symbols
from stemma.families.ngram.model import NgramModel, save_model

ORDER = 5
THREADS = 2
SETTINGS = NgramSettings(order=ORDER, smoothing="kneser-ney", add_k=1.0, interpolation=[], prior_count=5.0)


def main(folder: Path) -> None:
    """Measure and keep."""
    project = tokenized_sample(folder, 30000)
    model: dict[str, Any] = {}
    result = compare(
        "ngram",
        our_side(project, model),
        their_side(project, model),
        work=f"n-gram training, order {ORDER}, to a model on disk",
        against="nltk.lm.KneserNeyInterpolated, fit only",
        unit="tokens/s",
        floor=20.0,
        aim=50.0,
    )
    check(project, model)
    write_result(result.name, result)


def our_side(project: Path, model: dict[str, Any]) -> Callable[[], float]:
    """From the token store to a model's files, as the family's own training does it."""
    out = Path(tempfile.mkdtemp())

    def run() -> float:
        shutil.rmtree(out)
        out.mkdir()
        begun = time.perf_counter()
        store, symbols = TokenStore.open(project / "tokens/train"), read_symbols(project / "tokenizer")
        blocks = ((shard.ids, shard.sentences) for shard in store.shards())
        memory = memory_limit()
        counts = count_ngrams(blocks, symbols, ORDER, out / "counts", memory=memory, threads=THREADS)
        smoothing, details = choose_smoothing(SETTINGS, counts)
        estimates = estimate(counts, smoothing, memory=memory, threads=THREADS)
        save_model(out, counts, estimates, backs_off=smoothing.backs_off, details=details)
        elapsed = time.perf_counter() - begun
        model["ours"] = out
        return store.num_tokens / elapsed

    return run


def their_side(project: Path, model: dict[str, Any]) -> Callable[[], float]:
    """The pipeline and the fit of nltk's own documentation."""
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    sentences = read_sentences(project)
    num_tokens = sum(map(len, sentences))

    def run() -> float:
        model.pop("theirs", None)
        begun = time.perf_counter()
        ngrams, vocabulary = padded_everygram_pipeline(ORDER, sentences)
        fitted = KneserNeyInterpolated(ORDER)
        fitted.fit(ngrams, vocabulary)
        elapsed = time.perf_counter() - begun
        model["theirs"] = fitted
        return num_tokens / elapsed

    return run


def read_sentences(project: Path) -> list[list[str]]:
    """The training sentences as lists of tokens."""
    store = TokenStore.open(project / "tokens/train")
    tokenizer = Tokenizer.from_file(str(project / "tokenizer/tokenizer.json"))
    words = [tokenizer.id_to_token(number) for number in range(tokenizer.get_vocab_size())]
    return [[words[at] for at in store.sentence(number).tolist()] for number in range(store.num_sentences)]


def check(project: Path, model: dict[str, Any]) -> None:
    """Both sides must have counted the same: all n-grams of all orders that lie inside sentences, of some sentences."""
    import numpy as np

    store = TokenStore.open(project / "tokens/train")
    ours, theirs = NgramModel.open(model["ours"]), model["theirs"]
    sentences = read_sentences(project)
    for number in range(0, store.num_sentences, max(1, store.num_sentences // 200)):
        ids = store.sentence(number).astype(np.int64)
        if len(ids) < ORDER:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(ids, ORDER)
        found = ours.counts([windows[:, place] for place in range(ORDER - 1, -1, -1)])
        for at in range(len(windows)):
            words = sentences[number][at : at + ORDER]
            for length in range(1, ORDER + 1):
                expected = theirs.counts[words[-length:-1]][words[-1]] if length > 1 else theirs.counts[words[-1]]
                assert found[length - 1][at] == expected, words[-length:]


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
