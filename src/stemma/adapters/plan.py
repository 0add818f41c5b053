"""What a run would do, before anything runs: which stages and why, roughly how long, and how much disk.

Also what one run leaves for the next to know: how long each stage took, and on what kind of machine it ran.
"""

import heapq
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import yaml

from stemma.adapters import dvc
from stemma.adapters.provenance import environment_tags
from stemma.files import read_json, write_json

__all__ = [
    "Plan",
    "Step",
    "changed_environment",
    "critical_paths",
    "describe",
    "make_plan",
    "num_cores",
    "read_durations",
    "record_environment",
    "simulate",
    "update_durations",
]

DURATIONS = Path(".stemma/durations.json")
ENVIRONMENT = Path(".stemma/environment.json")
_MISSING = object()


@dataclass(frozen=True, kw_only=True)
class Step:
    """A stage that would run, or would at least be looked at because one before it runs."""

    stage: str
    reasons: tuple[str, ...]
    seconds: float | None  # what it took the last time, if it ever ran here
    num_bytes: int | None  # what it wrote the last time


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The stages that a run would go through, each after those that it needs."""

    steps: tuple[Step, ...]
    graph: "nx.DiGraph[str]"  # those stages only
    num_stages: int  # of the whole graph


def make_plan(root: Path) -> Plan:
    """Ask DVC what is stale; with it goes everything downstream."""
    stale = dvc.status(root)
    if not stale:
        return Plan(steps=(), graph=nx.DiGraph(), num_stages=len(dvc.read_lock(root)))
    graph = dvc.read_graph(root)
    names = set(stale).union(*(nx.descendants(graph, stage) for stage in stale if stage in graph)) & set(graph)
    lock, durations = dvc.read_lock(root), read_durations(root)
    steps = tuple(
        Step(
            stage=stage,
            reasons=_reasons(stage, stale.get(stage, []), lock.get(stage), graph, names, root),
            seconds=durations.get(stage),
            num_bytes=_size(lock.get(stage)),
        )
        for stage in nx.lexicographical_topological_sort(graph)
        if stage in names
    )
    return Plan(steps=steps, graph=graph.subgraph(names).copy(), num_stages=len(graph))


def describe(plan: Plan, slots: int, changed: Sequence[str]) -> list[str]:
    """A plan in words: a line a stage, then the sums, then what is different about this machine."""
    if not plan.steps:
        return ["Nothing to do: every stage is up to date."]
    width = max(len(step.stage) for step in plan.steps)
    lines = [f"{len(plan.steps)} of {plan.num_stages} stages would run, or be looked at because one before them runs:"]
    for step in plan.steps:
        time = _minutes(step.seconds) if step.seconds is not None else "unknown"
        size = _megabytes(step.num_bytes) if step.num_bytes is not None else "unknown"
        lines.append(f"  {step.stage:<{width}}  {time:>7}  {size:>9}  {'; '.join(step.reasons)}")
    durations = {step.stage: step.seconds for step in plan.steps if step.seconds is not None}
    unknown = len(plan.steps) - len(durations)
    more = f", and {unknown} of unknown length" if unknown else ""
    side_by_side, in_a_row = simulate(plan.graph, durations, slots), sum(durations.values())
    lines.append(
        f"Time: about {_minutes(side_by_side)} with {slots} side by side, {_minutes(in_a_row)} one by one{more}"
    )
    lines.append(f"Disk: about {_megabytes(sum(step.num_bytes or 0 for step in plan.steps))}, by the last outs of each")
    if changed:
        lines.append(f"Training may give other last bits than the last run, because of {'; '.join(changed)}")
    return lines


def critical_paths(graph: "nx.DiGraph[str]", durations: Mapping[str, float]) -> dict[str, float]:
    """How long the longest way from a stage's start to the end of the graph takes; a stage of unknown length counts 1 s."""
    lengths: dict[str, float] = {}
    for stage in reversed(list(nx.topological_sort(graph))):
        after = max((lengths[follower] for follower in graph.successors(stage)), default=0.0)
        lengths[stage] = durations.get(stage, 1.0) + after
    return lengths


def simulate(graph: "nx.DiGraph[str]", durations: Mapping[str, float], slots: int) -> float:
    """Seconds until all stages of `graph` have ended when `slots` of them may run side by side."""
    ranks = critical_paths(graph, durations)
    missing = {stage: graph.in_degree(stage) for stage in graph}
    ready = [(-ranks[stage], stage) for stage, count in missing.items() if not count]
    heapq.heapify(ready)
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < slots:
            _, stage = heapq.heappop(ready)
            heapq.heappush(running, (now + durations.get(stage, 0.0), stage))
        now, ended = heapq.heappop(running)
        for follower in graph.successors(ended):
            missing[follower] -= 1
            if not missing[follower]:
                heapq.heappush(ready, (-ranks[follower], follower))
    return now


def num_cores() -> int:
    """How many stages may run at once: `STEMMA_JOBS`, or the cores that this process may use."""
    given = os.environ.get("STEMMA_JOBS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_durations(root: Path) -> dict[str, float]:
    """Seconds that each stage took when it last ran on this machine."""
    path = root / DURATIONS
    durations: dict[str, float] = read_json(path) if path.exists() else {}
    return durations


def update_durations(root: Path, durations: Mapping[str, float]) -> None:
    """Keep how long stages took, for the next plan."""
    if durations:
        write_json(root / DURATIONS, {**read_durations(root), **{name: round(s, 1) for name, s in durations.items()}})


def record_environment(root: Path) -> None:
    """Keep what the weights' last bits depend on besides data, settings and code."""
    write_json(root / ENVIRONMENT, environment_tags(root / "requirements.lock"))


def changed_environment(root: Path) -> list[str]:
    """The fields that differ from the last run's: with them, training may give other last bits."""
    path = root / ENVIRONMENT
    if not path.exists():
        return []
    before, now = read_json(path), environment_tags(root / "requirements.lock")
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    return [f"{name.removeprefix('stemma.')}: {_difference(before.get(name, ''), now.get(name, ''))}" for name in names]


def _minutes(seconds: float) -> str:
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"


def _megabytes(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:,.1f} MB"


def _difference(before: str, now: str) -> str:
    """Both values, or of two long lists of words only what is not in both."""
    if len(before) + len(now) < 120:
        return f"{before or 'none'} -> {now or 'none'}"
    gone, new = sorted(set(before.split()) - set(now.split())), sorted(set(now.split()) - set(before.split()))
    return " ".join([*(f"-{word}" for word in gone), *(f"+{word}" for word in new)])


def _reasons(
    stage: str,
    changes: list[Any],
    locked: Mapping[str, Any] | None,
    graph: "nx.DiGraph[str]",
    names: set[str],
    root: Path,
) -> tuple[str, ...]:
    upstream = sorted(set(graph.predecessors(stage)) & names)
    after = [f"upstream: {', '.join(upstream)}"] if upstream else []
    if locked is None:
        return ("never run", *after)
    reasons = []
    for change in changes:
        if change == "changed command":
            reasons.append("command: changed in dvc.yaml")
        elif isinstance(change, dict):
            for path, what in change.get("changed deps", {}).items():
                reasons += _dep_reasons(path, what, locked, root)
            reasons += [f"output: {path} {what}" for path, what in change.get("changed outs", {}).items()]
        else:
            reasons.append(str(change))
    return (*reasons, *after)


def _dep_reasons(path: str, what: object, locked: Mapping[str, Any], root: Path) -> list[str]:
    if isinstance(what, dict) or path in locked.get("params", {}):
        return _setting_reasons(path, what, locked, root)
    kind = "code" if path.endswith(".py") else "input"
    return [f"{kind}: {path} {what}"]


def _setting_reasons(path: str, what: object, locked: Mapping[str, Any], root: Path) -> list[str]:
    """Every single value that differs between the lock and the file, by its full key."""
    before = locked.get("params", {}).get(path, {})
    document = yaml.safe_load((root / path).read_text(encoding="utf-8")) if (root / path).exists() else {}
    keys = sorted({*before, *(what if isinstance(what, dict) else ())})
    differences = [
        line for key in keys for line in _differences(key, before.get(key, _MISSING), _look_up(document, key))
    ]
    where = "" if path == "params.yaml" else f"{path} "
    return [f"settings: {where}{line}" for line in differences] or [f"settings: {path} {what}"]


def _differences(key: str, before: object, now: object) -> list[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        names = sorted({*before, *now}, key=str)
        return [
            line
            for name in names
            for line in _differences(f"{key}.{name}", before.get(name, _MISSING), now.get(name, _MISSING))
        ]
    return [] if before == now else [f"{key} {_shown(before)} -> {_shown(now)}"]


def _shown(value: object) -> str:
    if value is _MISSING:
        return "(none)"
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).strip().removesuffix("...").strip()
    return text if len(text) <= 60 else f"{text[:57]}..."


def _look_up(document: Any, key: str) -> object:
    for part in key.split("."):
        if not isinstance(document, dict) or part not in document:
            return _MISSING
        document = document[part]
    value: object = document
    return value


def _size(locked: Mapping[str, Any] | None) -> int | None:
    return sum(out.get("size", 0) for out in locked.get("outs", [])) if locked else None
