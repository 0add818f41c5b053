"""Every profile has the keys of params.yaml and can be read; the default one is params.yaml."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stemma.adapters.settings import list_profiles
from stemma.config import TaskFiles, load_params
from stemma.families import check_families, family_settings
from stemma.tasks.known import KNOWN, official_rows

ROOT = Path(__file__).parents[2]
PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
# what a user names, so that it may differ: the keys below these are names, not settings
NAMED = {"corpora", "tokenizers", "variants", "transfers", "tasks", "pairs", "probes"}
OPTIONAL = {"floors", "grid"}  # may be empty, or none


def test_the_profiles_of_the_design_are_there() -> None:
    assert {path.stem for path in PROFILES} >= {"smoke", "laptop", "babylm", "base"}


def test_params_yaml_is_the_laptop_profile() -> None:
    if any(profile.in_use for profile in list_profiles(ROOT) if profile.name != "laptop"):
        pytest.skip("another profile is in use here")
    laptop = (ROOT / "profiles" / "laptop.yaml").read_text()
    assert (ROOT / "params.yaml").read_text() == laptop, "cp params.yaml profiles/laptop.yaml"


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_can_be_read_down_to_its_families(path: Path) -> None:
    params = load_params(path)
    check_families(params)
    for variant in params.variants:
        family_settings(params, variant)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_has_the_same_keys(path: Path) -> None:
    expected = yaml.safe_load((ROOT / "profiles" / "laptop.yaml").read_text())
    assert keys(yaml.safe_load(path.read_text())) == keys(expected)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_says_in_its_first_line_what_it_is(path: Path) -> None:
    first = path.read_text().partition("\n")[0]
    assert first.startswith(f"# {path.stem}: ") or path.stem == "laptop"


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_note_on_a_column_has_the_rows_that_the_settings_have(path: Path) -> None:
    params = load_params(path)
    sources: dict[str, object] = {name: task.source for name, task in params.tasks.items()}
    sources |= {name: probe.source for name, probe in params.probes.items()}
    for name, note in params.evaluation.notes.items():
        source = sources[name]
        taken = dict(getattr(source, "max_examples", {}))
        taken.pop("validation", None)
        sizes = [*taken.values(), getattr(source, "max_pairs", None)]
        assert [size for size in sizes if size and f"{size:,}" not in note] == [], f"{name}: {note}"


def test_the_papers_profile_has_every_public_task_as_it_is_known() -> None:
    params = load_params(ROOT / "profiles" / "papers.yaml")
    formats = set()
    for name, task in params.tasks.items():
        assert isinstance(task.source, TaskFiles)
        known = KNOWN[task.source.format]
        formats.add(task.source.format)
        assert (task.kind, tuple(task.labels), task.metric) == (known.kind, known.labels, known.metrics[0]), name
        rows = [official_rows(task.source.format, file) for files in task.source.files.values() for file in files]
        assert None not in rows, f"{name}: a file without an official number of rows"
    assert formats == KNOWN.keys() - {"ax", "hellaswag"}, "AX has no labels, and no paper of the lineage HellaSwag"
    assert {pair.task for pair in params.pairs.values()} == params.tasks.keys() - {"mnli-mm"}
    via = {pair.task for pair in params.pairs.values() if pair.variant == "bert-via-mnli"}
    assert via == {"rte", "mrpc", "sts-b"}
    assert len(params.finetuning.points) == 18


def keys(value: dict[str, Any], way: str = "") -> set[str]:
    found = set()
    for name, item in value.items():
        if f"{way}{name}" == "evaluation.notes":  # words about tasks, which a profile may have or not
            continue
        found.add(f"{way}{name}")
        if isinstance(item, dict) and name not in NAMED | OPTIONAL:
            found |= keys(item, f"{way}{name}.")
    return found
