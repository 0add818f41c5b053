"""Profiles and how one takes the place of params.yaml."""

import shutil
import subprocess
from pathlib import Path

import pytest

from stemma.adapters.settings import list_profiles, use_profile
from stemma.errors import SettingsError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git repository with this project's profiles and the default settings, committed."""
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    shutil.copy(ROOT / "profiles" / "laptop.yaml", tmp_path / "params.yaml")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_a_profile_takes_the_place_of_the_settings(project: Path) -> None:
    assert use_profile(project, "smoke") is True
    assert (project / "params.yaml").read_text() == (project / "profiles/smoke.yaml").read_text()
    assert [profile.name for profile in list_profiles(project) if profile.in_use] == ["smoke"]
    assert use_profile(project, "smoke") is False


def test_every_profile_says_in_its_first_line_what_it_is(project: Path) -> None:
    assert all(profile.summary for profile in list_profiles(project))


def test_one_can_go_from_profile_to_profile_because_nothing_is_lost(project: Path) -> None:
    use_profile(project, "smoke")
    assert use_profile(project, "laptop") is True


def test_uncommitted_edits_are_never_overwritten_and_it_says_what_to_do(project: Path) -> None:
    params = project / "params.yaml"
    edited = params.read_text().replace("seed: 1", "seed: 2")
    params.write_text(edited)
    with pytest.raises(SettingsError, match=r"git commit params\.yaml"):
        use_profile(project, "smoke")
    assert params.read_text() == edited
    shutil.copy(params, project / "profiles" / "mine.yaml")
    assert use_profile(project, "smoke") is True


def test_edits_that_git_does_not_track_count_as_edits(project: Path) -> None:
    shutil.rmtree(project / ".git")
    (project / "params.yaml").write_text("seed: 3\n")
    with pytest.raises(SettingsError, match="not committed"):
        use_profile(project, "smoke")


def test_committed_edits_are_safe_with_git(project: Path) -> None:
    params = project / "params.yaml"
    params.write_text(params.read_text().replace("seed: 1", "seed: 2"))
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "x"], cwd=project, check=True)
    assert use_profile(project, "smoke") is True


@pytest.mark.parametrize("name", ["none", "../params", ""])
def test_an_unknown_profile_is_named_with_those_there_are(project: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r"there are ablations, babylm, base, .*smoke"):
        use_profile(project, name)


def test_a_profile_that_cannot_be_read_does_not_take_the_place(project: Path) -> None:
    (project / "profiles" / "bad.yaml").write_text("# bad\nseed: one\n")
    before = (project / "params.yaml").read_text()
    with pytest.raises(SettingsError, match=r"bad\.yaml"):
        use_profile(project, "bad")
    assert (project / "params.yaml").read_text() == before
