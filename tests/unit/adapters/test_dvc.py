"""DVC through its command line, on a project in miniature."""

import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from stemma.adapters import dvc
from stemma.errors import BusyError, StageError
from tests import miniature

pytestmark = pytest.mark.xdist_group("miniature")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in miniature on which `dvc repro` has run; not to be changed."""
    project = miniature.make_project(tmp_path_factory.mktemp("done") / "project")
    miniature.run_dvc(project, "repro")
    return project


def test_the_graph_has_every_expanded_stage_and_its_edges(done: Path) -> None:
    graph = dvc.read_graph(done)
    assert set(graph) == set(miniature.ORDER)
    assert set(graph.edges) == {
        ("source", "side@slow"),
        ("source", "side@quick"),
        ("source", "alone"),
        ("side@slow", "both"),
        ("side@quick", "both"),
        ("both", "end"),
    }


def test_a_graph_that_cannot_be_read_is_said_not_guessed(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dvc, "_run", lambda *_: 'strict digraph {\nsource -- "end";\n}')
    with pytest.raises(StageError, match="source -- "):
        dvc.read_graph(done)


def test_nothing_is_stale_after_a_run_and_a_setting_makes_its_stage_stale(done: Path, tmp_path: Path) -> None:
    assert dvc.status(done) == {}
    project = miniature.copy_project(done, tmp_path / "copy")
    miniature.change(project, "sides.quick.word", "c")
    assert dvc.status(project) == {"side@quick": [{"changed deps": {"mini.yaml": {"sides.quick": "modified"}}}]}


def test_the_order_is_the_one_in_which_dvc_repro_fills_the_lock(done: Path) -> None:
    assert dvc.repro_order(done) == miniature.ORDER == list(dvc.read_lock(done))


def test_a_shuffled_lock_is_brought_back_byte_for_byte(done: Path, tmp_path: Path) -> None:
    project = miniature.copy_project(done, tmp_path / "copy")
    expected = (project / "dvc.lock").read_bytes()
    dvc.sort_lock(project, list(reversed(miniature.ORDER)), [])
    assert list(dvc.read_lock(project)) == list(reversed(miniature.ORDER))
    dvc.sort_lock(project, [], miniature.ORDER)
    assert (project / "dvc.lock").read_bytes() == expected


def test_a_stage_that_is_new_to_a_lock_comes_last_as_dvc_puts_it() -> None:
    assert dvc.merged_order(["a", "gone", "c"], ["a", "b", "c", "d"], ["d", "c", "b", "gone", "a"]) == [
        "a",
        "gone",
        "c",
        "b",
        "d",
    ]


def test_the_lock_is_not_rewritten_while_dvc_holds_the_repository(done: Path, tmp_path: Path) -> None:
    project = miniature.copy_project(done, tmp_path / "copy")
    with (project / ".dvc" / "tmp" / "lock").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code = (
            f"from stemma.adapters.dvc import *; import pathlib; sort_lock(pathlib.Path({str(project)!r}), ['end'], [])"
        )
        writer = subprocess.Popen(["python", "-c", code], env=miniature.environment(project))
        time.sleep(2)
        assert writer.poll() is None
        assert next(iter(dvc.read_lock(project))) == "source"
    assert writer.wait(20) == 0
    assert next(iter(dvc.read_lock(project))) == "end"


def test_while_a_stage_runs_status_says_so_in_plain_words(done: Path, tmp_path: Path) -> None:
    project = miniature.copy_project(done, tmp_path / "copy")
    miniature.change(project, "sides.slow.sleep", 30)
    miniature.ran(project)
    process = subprocess.Popen(
        dvc.command("repro", "-q"), cwd=project, env=miniature.environment(project), start_new_session=True
    )
    try:
        _until(lambda: (project / ".stemma" / "trace.log").exists())
        with pytest.raises(BusyError, match="a stage is running"):
            dvc.status(project)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_hashes_of_outs_of_folders_of_outs_and_of_files_inside(done: Path) -> None:
    paths = [Path(name) for name in ("out/source", "out/source/text", "out/sides", "out/nothing", "work.py")]
    hashes = dvc.lock_hashes(paths, done)
    assert set(hashes) == {"out/source", "out/source/text", "out/sides"}
    assert hashes["out/source"] == dvc.read_lock(done)["source"]["outs"][0]["md5"]
    assert hashes["out/source/text"] == dvc.file_md5(done / "out/source/text")


def test_a_hash_follows_the_content_of_a_folder_inside_an_out(done: Path, tmp_path: Path) -> None:
    project = miniature.copy_project(done, tmp_path / "copy")
    before = dvc.lock_hashes([Path("out/sides")], project)
    miniature.change(project, "sides.quick.word", "other")
    miniature.run_dvc(project, "repro")
    assert dvc.lock_hashes([Path("out/sides")], project) != before


def test_a_flipped_bit_in_the_cache_is_found_and_named(done: Path, tmp_path: Path) -> None:
    assert dvc.broken_objects(done) == []
    project = miniature.copy_project(done, tmp_path / "copy")
    objects = [path for path in (project / ".dvc/cache/files/md5").rglob("*") if path.is_file()]
    victim = min(objects)
    victim.chmod(0o644)
    data = bytearray(victim.read_bytes())
    data[0] ^= 1
    victim.write_bytes(data)
    assert dvc.broken_objects(project) == [str(victim.relative_to(project))]


def _until(condition: object, *, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
