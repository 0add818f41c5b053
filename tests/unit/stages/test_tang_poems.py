"""Tang poems through the stages: a small GPT that has read a few goes on from their first couplets, character by character."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from stemma.cli import app
from stemma.data.clean_documents import read_clean
from tests import toy_corpora, toy_gpt
from tests.toy_stages import run_stages

POEMS = Path(__file__).parents[2] / "tang.txt"
GPT = {"hidden_size": 64, "heads": 4, "layers": 2, "max_length": 32, "batch_size": 8, "tokens_per_pass": 256}
LONGER = {"steps": 200, "learning_rate": 0.005, "dropout": 0.0, "checkpoint_every": 200}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Any:
    source = {"kind": "files", "paths": ["data/external/tang.txt"], "format": "blocks", "licence": "public domain"}
    characters = {"corpus": "toy", "kind": "word", "vocabulary_size": 500, "min_frequency": 1, "lowercase": True}
    checks = {"max_quarantined_share": 0.1, "min_characters": 5, "max_characters": 1000, "max_label_share": 1.0}
    asked = toy_corpora.params(
        splits={"validation": 0.2, "test": 0.1},
        corpora={"toy": {"kind": "documents", "sources": {"tang": source}}},
        validation=checks | {"overlap_ngram": 13, "max_overlap_share": 1.0},
        tokenizers={"characters": characters},
        families={"gpt": toy_gpt.SETTINGS | GPT | LONGER},
        variants={"gpt": {"family": "gpt", "corpus": "toy", "tokenizer": "characters"}},
    )
    folder = tmp_path_factory.mktemp("tang")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in {"STEMMA_SCRATCH": "scratch", "TOKENIZERS_PARALLELISM": "", "RAYON_NUM_THREADS": ""}.items():
            patch.setenv(name, value)
        run_stages(asked, POEMS, [("characters", "tokens", "gpt")])
    return folder


def read_poems(project: Path) -> list[list[str]]:
    """The couplets of the poems that it was trained on."""
    couplets: list[list[str]] = pa.concat_tables(read_clean(project / "clean/toy", "train"))["sentences"].to_pylist()
    return couplets


def test_a_poem_is_a_document_and_a_couplet_a_sentence(project: Path) -> None:
    written = [poem.split("\n") for poem in POEMS.read_text().strip().split("\n\n")]
    poems = read_poems(project)
    assert len(poems) >= 8
    assert all(poem in written for poem in poems)


def test_gpt_goes_on_from_the_first_couplet(project: Path) -> None:
    poems = read_poems(project)
    (project / "begun.txt").write_text("".join(f"{first}\n" for first, _ in poems))
    asked = ["generate", str(project / "gpt"), str(project / "begun.txt"), "--temperature", "0", "--tokens", "18"]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    for line, (first, second) in zip(done.stdout.splitlines(), poems, strict=True):
        assert line == first + second, "the poem's own second couplet, and no more: the poem ends there"
