"""BLiMP's files: what is read, and what is named when it can't be."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from stemma.data.input_files import InputFile
from stemma.errors import InputError
from stemma.tasks.blimp import MinimalPair, read_blimp

PAIR: dict[str, Any] = {
    "sentence_good": "Who ran?",
    "sentence_bad": "Ran who?",
    "field": "syntax",
    "linguistics_term": "island_effects",
    "UID": "toy",
    "pairID": "0",
}


def read(path: Path, *pairs: dict[str, Any]) -> list[MinimalPair]:
    text = "".join(json.dumps(pair) + "\n" for pair in pairs).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return list(read_blimp([InputFile(path, path.name)]))


@pytest.mark.parametrize("name", ["toy.jsonl", "toy.jsonl.gz"])
def test_a_pair_knows_its_paradigm_and_phenomenon(tmp_path: Path, name: str) -> None:
    assert read(tmp_path / name, PAIR) == [
        MinimalPair(id="toy-0", paradigm="toy", phenomenon="island_effects", good="Who ran?", bad="Ran who?")
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence_bad": " "}, r"toy.jsonl:2: 'sentence_bad' is empty"),
        ({"sentence_good": 3}, r"toy.jsonl:2: 'sentence_good': expected text"),
        ({"pairID": "0"}, r"toy.jsonl:2: pair 'toy-0' stands at toy.jsonl:1 already"),
    ],
)
def test_a_bad_pair_is_named_by_file_and_line(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path / "toy.jsonl", PAIR, {**PAIR, "pairID": "1", **changes})


def test_what_is_no_pair_of_blimp_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"toy.jsonl:1: no 'sentence_good'"):
        read(tmp_path / "toy.jsonl", {"text": "a"})
