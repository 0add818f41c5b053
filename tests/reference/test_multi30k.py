"""Multi30k, English to German: the official pairs, and what is lost between a sentence and its pieces."""

import os
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from tokenizers.pre_tokenizers import BertPreTokenizer

from stemma.config import ParallelFiles, load_params
from stemma.data.source_files import find_paired_files
from stemma.data.sources import read_paired_files
from stemma.text.clean_text import clean_pair
from stemma.text.detokenise import detokenise

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.shared_data


@pytest.fixture(scope="module")
def pairs() -> dict[Any, list[list[str]]]:
    """The pairs of each split, as the profile names them and as `clean` leaves them."""
    folder = Path(os.environ.get("STEMMA_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "multi30k").is_dir():
        pytest.skip("needs Multi30k (multi30k/train.en.gz and so on) in the folder that STEMMA_DATA names")
    source = load_params(ROOT / "profiles" / "translation.yaml").corpora["multi30k"].sources["multi30k"]
    assert isinstance(source, ParallelFiles)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEMMA_DATA", str(folder))
        found = find_paired_files(source, ROOT / "data" / "external")
    return {
        files.split: [
            clean_pair(document.text.encode(), "NFC").sentences.decode().split("\n")
            for document in read_paired_files(files)
        ]
        for files in found
    }


def test_the_splits_are_the_official_ones(pairs: dict[Any, list[list[str]]]) -> None:
    assert {split: len(some) for split, some in pairs.items()} == {"train": 29_000, "validation": 1014, "test": 1000}
    assert {len(pair) for some in pairs.values() for pair in some} == {2}
    assert pairs["test"][0][1].startswith("Ein Mann mit einem orangefarbenen Hut")


def test_a_sentence_in_pieces_is_put_together_again(pairs: dict[Any, list[list[str]]]) -> None:
    references = [target for _, target in pairs["test"]]
    parted = [" ".join(word for word, _ in BertPreTokenizer().pre_tokenize_str(text)) for text in references]
    whole = [detokenise(text) for text in parted]
    assert BLEU().corpus_score(whole, [references]).score > 99.9
    assert BLEU().corpus_score(parted, [references]).score < 98, "what would be lost"
