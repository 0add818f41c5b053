"""What would run and why, roughly how long, and how much disk: on a project in miniature."""

from pathlib import Path

import networkx as nx
import pytest

from stemma.adapters import plan as planning
from stemma.adapters.plan import Plan, critical_paths, describe, make_plan, simulate, update_durations
from stemma.files import read_json, write_json
from tests import miniature

pytestmark = pytest.mark.xdist_group("miniature")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in miniature on which `dvc repro` has run; not to be changed."""
    project = miniature.make_project(tmp_path_factory.mktemp("done") / "project")
    miniature.run_dvc(project, "repro")
    return project


@pytest.fixture
def project(done: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return miniature.copy_project(done, tmp_path / "copy")


def reasons(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {step.stage: step.reasons for step in plan.steps}


def test_after_a_run_there_is_nothing_to_do(done: Path) -> None:
    assert describe(make_plan(done), 2, []) == ["Nothing to do: every stage is up to date."]


def test_a_setting_is_named_with_both_its_values_and_what_follows_with_what_it_follows(project: Path) -> None:
    miniature.change(project, "sides.quick.word", "z")
    assert reasons(make_plan(project)) == {
        "side@quick": ("settings: mini.yaml sides.quick.word b -> z",),
        "both": ("upstream: side@quick",),
        "end": ("upstream: both",),
    }


def test_a_setting_that_is_new_or_gone_is_named_too(project: Path) -> None:
    miniature.change(project, "sides.quick", {"deep": {"er": [1, 2]}})
    assert reasons(make_plan(project))["side@quick"] == (
        "settings: mini.yaml sides.quick.deep (none) -> {er: [1, 2]}",
        "settings: mini.yaml sides.quick.word b -> (none)",
    )


def test_edited_code_and_inputs_are_named_apart_from_settings(project: Path) -> None:
    (project / "work.py").write_text((project / "work.py").read_text() + "\n# edited\n")
    assert reasons(make_plan(project))["side@slow"] == ("code: work.py modified", "upstream: source")


def test_a_missing_or_edited_output_is_named(project: Path) -> None:
    (project / "out/alone/text").chmod(0o644)
    (project / "out/alone/text").write_text("by hand")
    assert reasons(make_plan(project)) == {"alone": ("output: out/alone modified",)}


def test_a_changed_command_is_named(project: Path) -> None:
    path = project / "dvc.yaml"
    path.write_text(path.read_text().replace("work.py alone out/alone", "work.py  alone out/alone"))
    assert reasons(make_plan(project)) == {"alone": ("command: changed in dvc.yaml",)}


def test_what_never_ran_says_so(tmp_path: Path) -> None:
    plan = make_plan(miniature.make_project(tmp_path / "fresh"))
    assert len(plan.steps) == plan.num_stages == len(miniature.ORDER)
    assert {step.reasons[0] for step in plan.steps} == {"never run"}
    assert all(step.seconds is None and step.num_bytes is None for step in plan.steps)
    assert "6 of unknown length" in "\n".join(describe(plan, 2, []))


def test_time_and_disk_come_from_the_last_run(project: Path) -> None:
    update_durations(project, {"side@quick": 61.04, "both": 5.0, "alone": 99.0})
    update_durations(project, {"end": 2.0})
    miniature.change(project, "sides.quick.word", "z")
    lines = describe(make_plan(project), 2, ["torch: 1 -> 2"])
    assert lines[0].startswith("3 of 6 stages")
    assert [line.split()[1] for line in lines[1:4]] == ["1:01", "0:05", "0:02"]
    assert "about 1:08 with 2 side by side, 1:08 one by one" in lines[4]
    assert lines[-1].endswith("because of torch: 1 -> 2")
    assert all(step.num_bytes for step in make_plan(project).steps)


def test_a_plan_runs_nothing_and_changes_nothing(project: Path) -> None:
    miniature.change(project, "sides.quick.word", "z")
    miniature.ran(project)
    before = miniature.git(project, "status", "--porcelain")
    make_plan(project)
    assert miniature.ran(project) == []
    assert miniature.git(project, "status", "--porcelain") == before


@pytest.mark.parametrize(("slots", "seconds"), [(1, 16.0), (2, 11.0), (3, 11.0)])
def test_the_schedule_puts_the_longest_way_first(slots: int, seconds: float) -> None:
    graph: nx.DiGraph[str] = nx.DiGraph([("a", "long"), ("a", "short"), ("a", "other"), ("long", "end")])
    durations = {"a": 1.0, "long": 8.0, "short": 2.0, "other": 3.0, "end": 2.0}
    assert critical_paths(graph, durations) == {"a": 11.0, "long": 10.0, "short": 2.0, "other": 3.0, "end": 2.0}
    assert simulate(graph, durations, slots) == seconds


def test_the_field_of_the_machine_that_differs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert planning.changed_environment(tmp_path) == []
    planning.record_environment(tmp_path)
    assert planning.changed_environment(tmp_path) == []
    path = tmp_path / planning.ENVIRONMENT
    kept = read_json(path)
    flags = kept["stemma.cpu_flags"].split()
    write_json(path, {**kept, "stemma.torch": "1.0+other", "stemma.cpu_flags": " ".join([*flags[1:], "imaginary"])})
    torch, cpu = planning.changed_environment(tmp_path)[::-1]
    assert torch == f"torch: 1.0+other -> {kept['stemma.torch']}"
    assert cpu == f"cpu_flags: -imaginary +{flags[0]}"
