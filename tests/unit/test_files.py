"""Files are written whole or not at all, and damage shows."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stemma.errors import CorruptionError, InputError
from stemma.files import (
    atomic_dir,
    atomic_path,
    canonical_json,
    digest_tree,
    read_json,
    verify_manifest,
    write_manifest,
    write_text,
)


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_threads_that_write_one_file_at_once_leave_one_of_their_texts_whole(tmp_path: Path) -> None:
    texts = [letter * 100_000 for letter in "abcd"]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write_text, tmp_path / "a.txt", text) for text in texts * 10]:
            done.result()
    assert (tmp_path / "a.txt").read_text() in texts
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_failed_folder_leaves_the_old_folder_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with atomic_dir(target) as temporary:
        (temporary / "weights").write_text("old")
    with pytest.raises(RuntimeError), atomic_dir(target) as temporary:
        (temporary / "weights").write_text("half")
        raise RuntimeError
    assert (target / "weights").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_new_folder_replaces_the_old_one_wholly(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for name in ("first", "second"):
        with atomic_dir(target) as temporary:
            (temporary / name).write_text(name)
    assert [path.name for path in target.iterdir()] == ["second"]


def test_leftovers_of_killed_writers_are_removed_and_live_ones_kept(tmp_path: Path) -> None:
    for writer in ("4194305", "1"):  # no process has the first number: it is above the kernel's limit
        (tmp_path / f".model.{writer}.tmp").mkdir()
    with atomic_dir(tmp_path / "model"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".model.1.tmp", "model"]


def test_canonical_json_has_one_form_and_refuses_nan() -> None:
    assert canonical_json({"b": 1, "a": "é"}) == '{\n  "a": "é",\n  "b": 1\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"loss": float("nan")})


def test_malformed_json_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{\n"a": 1,\n}')
    with pytest.raises(InputError, match=r"bad\.json:3"):
        read_json(path)


def test_tree_digest_sees_names_and_contents_but_not_the_place(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write_text(tmp_path / folder / "sub" / "a", "text")
    same = digest_tree([tmp_path / "one"])
    assert digest_tree([tmp_path / "two"]) == same
    (tmp_path / "two" / "sub" / "a").rename(tmp_path / "two" / "sub" / "b")
    assert digest_tree([tmp_path / "two"]) != same


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_manifest_finds_damage(tmp_path: Path, damage: str) -> None:
    weights = tmp_path / "weights"
    weights.write_bytes(bytes(range(64)))
    write_manifest(tmp_path, {"step": 3})
    assert verify_manifest(tmp_path)["step"] == 3
    match damage:
        case "flip":
            weights.write_bytes(bytes([weights.read_bytes()[0] ^ 1]) + weights.read_bytes()[1:])
        case "truncate":
            weights.write_bytes(weights.read_bytes()[:-1])
        case "remove":
            weights.unlink()
    with pytest.raises(CorruptionError, match="weights"):
        verify_manifest(tmp_path)


def test_manifest_names_every_file(tmp_path: Path) -> None:
    write_text(tmp_path / "sub" / "a", "x")
    write_manifest(tmp_path)
    assert list(json.loads((tmp_path / "manifest.json").read_text())["files"]) == ["sub/a"]
