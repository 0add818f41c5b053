"""From a source to tokens twice, in other processes and under other conditions that must not matter: equal bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from stemma.files import digest_tree
from tests import toy_corpora

OUTPUTS = ("raw", "clean", "tokenizers/wordpiece", "tokenizers/word", "tokens/wordpiece", "tokens/word")
FEW = {"STEMMA_DATA_THREADS": "1", "RAYON_NUM_THREADS": "1", "PYTHONHASHSEED": "1", "STEMMA_MEMORY_LIMIT": "1000000"}
MANY = {"STEMMA_DATA_THREADS": "4", "RAYON_NUM_THREADS": "3", "PYTHONHASHSEED": "2", "STEMMA_MEMORY_LIMIT": "300000000"}


def prepare(root: Path, *, reverse: bool = False) -> None:
    """A project folder with documents of known ids, some of them duplicates, in this or that order."""
    (root / "external").mkdir(parents=True)
    texts = list(toy_corpora.texts(120, sentences=12))
    texts += [texts[3], texts[40] + " A little more.", texts[41].replace(" ", "  ")]
    lines = [json.dumps({"name": f"document {number}", "text": text}) for number, text in enumerate(texts)]
    (root / "external" / "toy.jsonl").write_text("\n".join(reversed(lines) if reverse else lines) + "\n")
    source = {
        "kind": "files",
        "paths": ["external/toy.jsonl"],
        "format": "jsonl",
        "licence": "CC0",
        "id_column": "name",
    }
    params = toy_corpora.params(corpora={"toy": {"kind": "documents", "sources": {"toy": source}}})
    (root / "params.yaml").write_text(yaml.safe_dump(json.loads(params.model_dump_json())))


def run_stages(root: Path, environment: dict[str, str]) -> dict[str, str]:
    """The digests of what the stages leave, each run in a process of its own."""
    run = [sys.executable, "-m", "stemma"]
    commands = [
        [*run, "ingest", "--external", "external", "--out", "raw"],
        [*run, "clean", "--corpora", "raw", "--out", "clean"],
    ]
    for name in ("wordpiece", "word"):
        corpus, tokenizer = ["--corpus", "clean/toy"], f"tokenizers/{name}"
        commands.append([*run, "tokenizer", name, *corpus, "--out", tokenizer])
        commands.append([*run, "tokenize", name, *corpus, "--tokenizer", tokenizer, "--out", f"tokens/{name}"])
    for command in commands:
        subprocess.run(command, cwd=root, env={**os.environ, **environment}, check=True, capture_output=True)
    return {output: digest_tree([root / output]) for output in OUTPUTS}


@pytest.mark.slow
def test_processes_threads_memory_and_order_do_not_matter(tmp_path: Path) -> None:
    prepare(tmp_path / "one")
    prepare(tmp_path / "two")
    prepare(tmp_path / "three", reverse=True)
    one = run_stages(tmp_path / "one", FEW)
    assert run_stages(tmp_path / "two", MANY) == one
    three = run_stages(tmp_path / "three", MANY)
    assert {**three, "raw": one["raw"]} == one  # the order of documents shows in `raw` alone
    report = json.loads((tmp_path / "one/clean/toy/report.json").read_text())
    assert sum(report["duplicates"]["exact"].values()) == 2
    assert sum(report["duplicates"]["near"].values()) == 1
