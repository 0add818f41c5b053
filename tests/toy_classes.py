"""An n-gram model of the toy tasks' words, as the stage `pretrain` leaves it."""

from pathlib import Path

import numpy as np

from stemma import config
from stemma.files import write_json, write_manifest
from stemma.text.vocabulary import learn_tokenizer, save_tokenizer
from tests import toy_bert, toy_ngrams, toy_static


def write_pretrained(folder: Path, *, order: int = 2, smoothing: str = "kneser-ney") -> Path:
    """A model of random words, in which `j` often follows `j`."""
    asked = config.Tokenizer(corpus="toy", kind="word", vocabulary_size=2000, min_frequency=1, lowercase=True)
    tokenizer = learn_tokenizer([(word, 9) for word in toy_static.WORDS], asked)
    (folder / "tokenizer").mkdir(parents=True)
    save_tokenizer(tokenizer, asked, folder / "tokenizer")
    for seed, split in enumerate(("train", "validation"), start=1):
        rng = np.random.default_rng(seed)
        texts = [f"{toy_bert.sentence(rng, int(rng.integers(1, 6)))} j j j" for _ in range(200)]
        toy_ngrams.save_tokens(folder / "tokens" / split, tokenizer, texts)
    out = folder / "out"
    settings = toy_ngrams.settings(smoothing, order)
    toy_ngrams.pretrain(folder / "tokens", folder / "tokenizer", settings, out)
    write_json(out / "family.json", {"family": "ngram", "variant": "ngram"})
    write_manifest(out)
    return out
