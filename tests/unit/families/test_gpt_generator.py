"""GPT goes on with a text: the same tokens as without a cache, and what is drawn follows the probabilities."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from stemma.families.gpt.generator import GptGenerator, choice, last_half, load_generator
from stemma.text.symbols import Symbols, read_symbols
from tests import toy_gpt

GREEDY: dict[str, Any] = {"temperature": 0.0, "top_k": None, "seed": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_gpt.pretrain(tmp_path_factory.mktemp("gpt"), layers=2, steps=150)[0]


@pytest.fixture(scope="module")
def generator(folder: Path) -> GptGenerator:
    return load_generator(folder)


def read_anew(folder: Path, ids: list[int], count: int) -> list[int]:
    """The likeliest tokens by transformers' own forward, everything read again for every one."""
    network: Any = transformers.OpenAIGPTLMHeadModel.from_pretrained(folder)
    symbols, context = read_symbols(folder), ids
    new: list[int] = []
    banned = sorted({*symbols.silent, symbols.unknown} - {symbols.begin})
    for _ in range(count):
        if len(context) > 16:
            context = last_half([*ids, *new], 16, symbols)
        with torch.no_grad():
            scores = network.eval()(torch.tensor([context])).logits[0, -1]
        scores[banned] = -torch.inf
        best = int(scores.argmax())
        if best == symbols.begin:
            break
        new.append(best)
        context = [*context, best]
    return new


@pytest.mark.parametrize("beginning", ["", "a", "a b c", "a b c d e f g h i j a b c d e f g h i j"])
def test_a_cache_changes_nothing(folder: Path, generator: GptGenerator, beginning: str) -> None:
    ids = generator.read(beginning)
    assert generator.continuation(ids, 60, choice(0.0, None, np.random.default_rng(1))) == read_anew(folder, ids, 60)


def test_what_follows_is_added_to_the_line(generator: GptGenerator) -> None:
    written = generator.go_on("a b", tokens=7, **GREEDY)
    assert written.startswith("a b ")
    assert len(written.split()) <= 9
    assert generator.go_on("a b ", tokens=7, **GREEDY) == written
    assert set(written.split()) <= set("abcdefghij")


def test_what_is_drawn_is_a_function_of_the_seed(generator: GptGenerator) -> None:
    def draw(seed: int, top_k: int | None = None) -> str:
        return generator.go_on("a", tokens=20, temperature=1.0, top_k=top_k, seed=seed)

    assert draw(1) == draw(1)
    assert len({draw(seed) for seed in range(5)}) > 2
    assert draw(3, top_k=1) == generator.go_on("a", tokens=20, **GREEDY)


@pytest.mark.parametrize(("temperature", "top_k"), [(1.0, None), (0.5, None), (2.0, 3)])
def test_draws_follow_the_probabilities(temperature: float, top_k: int | None) -> None:
    scores = np.array([0.0, 2.0, -np.inf, 1.0, 1.5])
    draw = choice(temperature, top_k, np.random.default_rng(1))
    counts = np.bincount([draw(scores) for _ in range(4000)], minlength=5)
    weights = np.exp(scores / temperature)
    if top_k:
        weights[np.argsort(-scores)[top_k:]] = 0
    assert (counts / 4000).tolist() == pytest.approx((weights / weights.sum()).tolist(), abs=0.03)
    assert (counts[weights == 0] == 0).all()


def test_the_text_ends_where_another_document_would_begin(generator: GptGenerator) -> None:
    symbols = generator._symbols
    chosen = iter([7, 8, symbols.begin, 9])
    assert generator.continuation([symbols.begin], 10, lambda _: next(chosen)) == [7, 8]


def test_what_text_can_not_hold_is_never_written(generator: GptGenerator) -> None:
    seen: list[set[int]] = []

    def watch(scores: Any) -> int:
        seen.append(set(np.flatnonzero(np.isinf(scores)).tolist()))
        return 7

    generator.continuation([5, 7], 2, watch)
    assert seen == [{0, 1, 2, 3, 4}] * 2  # [PAD] [UNK] [CLS] [SEP] [MASK], but <s> and </s>


def test_sentences_of_a_beginning_are_told_apart(tmp_path: Path) -> None:
    folder = toy_gpt.pretrain_on_pieces(tmp_path, steps=1)
    generator = load_generator(folder)
    first, second = (generator._tokenizer.encode(text, add_special_tokens=False).ids for text in ("Ab.", "Cd"))
    assert generator.read("Ab. Cd") == [2, *first, 3, *second]
    written = generator.go_on("Ab. Cd", tokens=5, **GREEDY)
    assert written.startswith("Ab. Cd")


def test_what_is_kept_of_a_text_that_is_too_long() -> None:
    symbols = Symbols(size=20, begin=5, end=6, unknown=1, silent=(0, 5))
    assert last_half([5, 7, 8, 9, 10, 11, 12, 13, 14], 8, symbols) == [11, 12, 13, 14]
    assert last_half([5, 7, 8, 9, 10, 11, 6, 13, 14], 8, symbols) == [5, 13, 14]
    assert last_half([5, 7, 8, 9, 10, 11, 12, 13, 6], 8, symbols) == [11, 12, 13, 6], "nothing has begun yet"
