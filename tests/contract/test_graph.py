"""dvc.yaml, the code and the flow speak of the same graph."""

import itertools
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.slots import threads_of
from stemma.adapters import dvc
from stemma.config import Params, load_params

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stages() -> dict[str, Any]:
    """The stages of dvc.yaml as they are written."""
    document = yaml.safe_load((ROOT / "dvc.yaml").read_text())
    return {name: stage.get("do", stage) for name, stage in document["stages"].items()}


@pytest.fixture(scope="module")
def params() -> Params:
    """The settings as they are."""
    return load_params(ROOT / "params.yaml")


def test_the_graph_that_the_flow_reads_is_the_one_that_dvc_yaml_expands_to(params: Params) -> None:
    """Pins the form of `dvc dag --dot`, on which the flow depends."""
    graph = dvc.read_graph(ROOT)
    expected = {"ingest", "prepare", "validate", "clean", "evaluate"}
    expected |= {f"{stage}@{name}" for stage in ("tokenizer", "tokenize") for name in params.tokenizers}
    expected |= {f"pretrain@{name}" for name in params.variants} | {f"finetune@{name}" for name in params.pairs}
    expected |= {f"transfer@{name}" for name in params.transfers}
    assert set(graph) == expected
    assert set(graph.predecessors("prepare")) == {"ingest"}
    assert set(graph.predecessors("validate")) == {"ingest", "prepare"}
    assert set(graph.predecessors("clean")) == {"validate"}
    for name, tokenizer in params.tokenizers.items():
        assert set(graph.predecessors(f"tokenizer@{name}")) == {"clean"}, tokenizer
        assert set(graph.predecessors(f"tokenize@{name}")) == {"clean", f"tokenizer@{name}"}
    for name, variant in params.variants.items():
        wanted = {f"tokenize@{variant.tokenizer}", f"tokenizer@{variant.tokenizer}"}
        assert set(graph.predecessors(f"pretrain@{name}")) == wanted
    for name, pair in params.pairs.items():
        assert set(graph.predecessors(f"finetune@{name}")) == {"validate", f"pretrain@{pair.variant}"}
    last = {"clean", "prepare", "validate"} | {f"pretrain@{name}" for name in params.variants}
    assert set(graph.predecessors("evaluate")) == last | {f"finetune@{name}" for name in params.pairs}


def test_a_transfer_stands_between_the_pair_that_it_starts_from_and_those_that_start_from_it(tmp_path: Path) -> None:
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    settings["transfers"]["bert-via-odd-words"] = {"pair": "bert-odd-words", "variant": "bert", "family": "bert"}
    pair = {"variant": "bert-via-odd-words", "family": "bert", "task": "word-order"}
    settings["pairs"]["bert-via-odd-words-word-order"] = pair
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(settings))
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(dvc.command("init", "-q"), cwd=tmp_path, check=True)
    graph = dvc.read_graph(tmp_path)
    transfer = "transfer@bert-via-odd-words"
    assert set(graph.predecessors(transfer)) == {"pretrain@bert", "finetune@bert-odd-words"}
    assert set(graph.predecessors("finetune@bert-via-odd-words-word-order")) == {"validate", transfer}
    assert set(graph.successors(transfer)) == {"finetune@bert-via-odd-words-word-order", "evaluate"}
    assert not any(stage.startswith("pretrain@bert-via") for stage in graph)


def test_every_stage_has_a_file_a_subcommand_and_a_line_of_description(stages: dict[str, Any]) -> None:
    from stemma.cli import app

    commands = {command.callback.__name__ for command in app.registered_commands if command.callback is not None}
    for name, stage in stages.items():
        assert (ROOT / "src/stemma/stages" / f"{name}.py").exists()
        assert name in commands
        assert stage["cmd"].split()[:4] == ["python", "-m", "stemma", name]
        assert stage["desc"]


def test_every_path_that_a_command_line_names_is_a_dep_or_an_out(stages: dict[str, Any]) -> None:
    for name, stage in stages.items():
        outs = [out if isinstance(out, str) else next(iter(out)) for out in stage["outs"]]
        words = stage["cmd"].split()
        paths = [word for option, word in itertools.pairwise(words) if option.startswith("--")]
        for path in paths:
            known = [*stage["deps"], *outs]
            assert any(path == one or one.startswith(f"{path}/") or path.startswith(f"{one}/") for one in known), (
                name,
                path,
            )


def test_only_names_reach_a_command_line(stages: dict[str, Any]) -> None:
    """`${...}` in a command goes through a shell: nothing but keys and names, which config.py checks, may stand there."""
    allowed = {"${key}", "${item.corpus}", "${item.tokenizer}", "${item.variant}", "${item.task}", "${item.pair}"}
    for name, stage in stages.items():
        used = {part.partition("}")[0] for part in stage["cmd"].split("${")[1:]}
        assert {f"${{{part}}}" for part in used} <= allowed, name


def test_a_training_stage_takes_the_cores_that_its_settings_say(params: Params) -> None:
    assert threads_of("ingest", params) == 1
    changed = params.model_copy(update={"finetuning": params.finetuning.model_copy(update={"threads": 3})})
    assert threads_of(f"finetune@{next(iter(params.pairs))}", changed) == 3
    bert = next(name for name, variant in params.variants.items() if variant.family == "bert")
    assert threads_of(f"pretrain@{bert}", params) == params.families["bert"]["threads"]
