"""`stemma hotspots`: a variant's training step, or one line that says why not."""

from pathlib import Path

import pytest
import yaml

from stemma.adapters.hotspots import describe_hotspots
from stemma.errors import InputError, SettingsError
from tests import toy_bert

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Tokens and settings as the pipeline leaves them, for a BERT that takes no time."""
    values = yaml.safe_load((ROOT / "params.yaml").read_text())
    values["families"]["bert"] = toy_bert.SETTINGS
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(values))
    toy_bert.write_store(tmp_path / "tokens/wordpiece/train", toy_bert.random_documents(1, 30))
    toy_bert.write_tokenizer(tmp_path / "tokenizers/wordpiece")
    return tmp_path


def describe(project: Path, variant: str) -> list[str]:
    folders = {"tokens": project / "tokens", "tokenizers": project / "tokenizers"}
    return list(describe_hotspots(variant, project / "params.yaml", **folders))


def test_it_names_the_top_costs(project: Path) -> None:
    first, second, header, *rows = describe(project, "bert")
    assert first.startswith("A step of bert: ")
    assert "tokens per second" in first
    assert "of what this machine reaches" in second
    assert header.split() == ["share", "ms", "calls", "operation"]
    assert any("aten::addmm" in row for row in rows)


@pytest.mark.parametrize(
    ("variant", "message"),
    [("brt", "no variant 'brt'"), ("ngram", "does not train in steps"), ("bert-untrained", "no training step")],
)
def test_what_can_not_be_profiled_is_said(project: Path, variant: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        describe(project, variant)


def test_missing_tokens_are_named(project: Path) -> None:
    (project / "tokens/wordpiece").rename(project / "elsewhere")
    with pytest.raises(InputError, match="run `dvc repro tokenize@wordpiece`"):
        describe(project, "bert")
