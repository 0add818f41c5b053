"""Where checkpoints lie, and what their folder's name depends on."""

from pathlib import Path
from typing import Any

import pytest

from stemma.training import checkpoint


@pytest.fixture
def scratch(monkeypatch, tmp_path):
    """A scratch root of its own, and a function that asks for a folder in it."""
    monkeypatch.setenv("STEMMA_SCRATCH", str(tmp_path / "scratch"))
    source = tmp_path / "input.txt"
    source.write_text("a", encoding="utf-8")

    def folder(**changes) -> Path:
        arguments: dict[str, Any] = {
            "settings": {"steps": 1},
            "inputs": [source],
            "modules": ["stemma.files"],
            "seed": 1,
        } | changes
        return checkpoint.scratch_dir("pretrain@bert", **arguments)

    return folder


def test_same_work_gets_the_same_folder(scratch, tmp_path):
    assert scratch() == scratch()
    assert scratch().parent == tmp_path / "scratch"
    assert scratch().is_dir()


def test_settings_seed_and_code_each_change_the_folder(scratch):
    folders = [
        scratch(),
        scratch(settings={"steps": 2}),
        scratch(seed=2),
        scratch(modules=["stemma.files", "stemma.progress"]),
    ]
    assert len(set(folders)) == len(folders)


def test_an_input_changes_the_folder_by_content_not_by_place(scratch, tmp_path):
    before = scratch()
    moved = tmp_path / "elsewhere" / "input.txt"
    moved.parent.mkdir()
    moved.write_text("a", encoding="utf-8")
    assert scratch(inputs=[moved]) == before
    moved.write_text("b", encoding="utf-8")
    assert scratch(inputs=[moved]) != before


def test_an_edited_line_of_code_changes_the_folder(scratch, monkeypatch):
    before = scratch()
    monkeypatch.setattr(checkpoint, "code_digest", lambda _: "edited")
    assert scratch() != before


def test_discard_removes_the_folder(scratch):
    folder = scratch()
    (folder / "file").write_text("x", encoding="utf-8")
    checkpoint.discard(folder)
    assert not folder.exists()
    checkpoint.discard(folder)
