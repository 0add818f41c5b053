"""A corpus, a tokenizer and settings so small that BERT trains on them in a second."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors

from stemma.data.token_store import TokenStoreWriter
from stemma.families.base import Pretraining
from stemma.families.bert.family import BertSettings
from stemma.files import write_json
from stemma.progress import NullProgress
from stemma.training.tracker import NullTracker

LETTERS: Final = "abcdefghij"
SPECIAL: Final = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SETTINGS: Final[dict[str, Any]] = {
    "layers": 1,
    "hidden_size": 16,
    "heads": 2,
    "intermediate_size": 32,
    "dropout": 0.1,
    "max_length": 32,
    "steps": 12,
    "batch_size": 4,
    "tokens_per_pass": 64,
    "learning_rate": 0.005,
    "weight_decay": 0.01,
    "warmup_share": 0.1,
    "max_gradient_norm": 1.0,
    "mask_probability": 0.15,
    "mask_token_share": 0.8,
    "random_token_share": 0.1,
    "masking": "dynamic",
    "whole_word": False,
    "next_sentence": True,
    "direction": "both",
    "bilstm": False,
    "features": "last",
    "tune": "whole",
    "task_learning_rate": 0.01,
    "checkpoint_every": 4,
    "precision": "float32",
    "threads": 1,
    "processes": 1,
}


def settings(**changes: Any) -> BertSettings:
    """The toy settings, with changes."""
    return BertSettings(**SETTINGS | changes)


def tokenizer() -> tokenizers.Tokenizer:
    """WordPiece over ten letters: a word of n letters is n pieces."""
    vocabulary = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS), ".", "'"]
    model = models.WordPiece({token: number for number, token in enumerate(vocabulary)}, unk_token="[UNK]")
    result = tokenizers.Tokenizer(model)
    result.normalizer = normalizers.BertNormalizer(lowercase=True)
    result.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    result.add_special_tokens(SPECIAL)
    result.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return result


def sentence(rng: np.random.Generator, words: int) -> str:
    """Some random words of one to three letters."""
    return " ".join("".join(rng.choice(list(LETTERS), rng.integers(1, 4))) for _ in range(words))


def write_tokenizer(folder: Path) -> Path:
    """Save the toy tokenizer as the stage `tokenizer` does."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer().save(str(folder / "tokenizer.json"))
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **names})
    return folder


def write_store(folder: Path, documents: list[list[list[int]]], *, tokens_per_shard: int = 1 << 20) -> Path:
    """Save documents, lists of sentences of ids, as a token store."""
    with TokenStoreWriter(folder, np.dtype(np.uint16), tokens_per_shard=tokens_per_shard) as writer:
        for document in documents:
            ids = np.array([id_ for sentence in document for id_ in sentence], np.uint16)
            lengths = np.array([len(sentence) for sentence in document], np.int64)
            writer.add(ids, lengths, len(ids))  # a byte a token
    return folder


def random_documents(seed: int, count: int, *, max_sentences: int = 12, max_words: int = 9) -> list[list[list[int]]]:
    """Documents of random sentences, as ids."""
    rng, encode = np.random.default_rng(seed), tokenizer().encode
    return [
        [
            encode(sentence(rng, int(rng.integers(1, max_words))), add_special_tokens=False).ids
            for _ in range(rng.integers(1, max_sentences))
        ]
        for _ in range(count)
    ]


def write_corpus(folder: Path) -> tuple[Path, Path]:
    """Save a toy corpus; returns the folders of tokens and tokenizer."""
    write_store(folder / "tokens" / "train", random_documents(1, 30))
    write_store(folder / "tokens" / "validation", random_documents(2, 6))
    return folder / "tokens", write_tokenizer(folder / "tokenizer")


def pretraining(
    folder: Path, *, scratch: Path | None = None, seed: int = 1, **changes: Any
) -> Pretraining[BertSettings]:
    """A toy corpus in `folder` and everything else that `pretrain` takes."""
    tokens, tokenizer_dir = write_corpus(folder)
    out = folder / "out"
    out.mkdir(exist_ok=True)
    return Pretraining(
        tokens=tokens,
        tokenizer=tokenizer_dir,
        settings=settings(**changes),
        seed=seed,
        scratch=scratch or folder / "scratch",
        out=out,
        tracker=NullTracker(),
        progress=NullProgress(),
    )
