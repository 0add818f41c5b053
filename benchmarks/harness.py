"""How two sides are compared: in one run, in turns, by the median of the ratios.

A machine's speed drifts, so a time by itself says little; a ratio of two measurements that lie side by side does. Rates are work
per second; a ratio above 1 is in our favour.
"""

import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "ROUNDS", "Comparison", "apart", "compare", "read_results", "timed", "write_result"]

RESULTS = Path(__file__).parent / "results.json"
ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What came of one row of the table."""

    name: str
    work: str  # what is done, on what
    against: str  # what a user would pick instead
    unit: str
    ours: float  # median rates
    theirs: float
    ratio: float  # the median of the rounds' ratios
    lowest: float
    highest: float
    rounds: int
    floor: float
    aim: float


def compare(
    name: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    *,
    work: str,
    against: str,
    unit: str,
    floor: float,
    aim: float,
    rounds: int = ROUNDS,
) -> Comparison:
    """Call both sides in turns; each call does its work once and returns a rate. The first round of each is not counted."""
    ours(), theirs()
    pairs = []
    for number in range(rounds):
        first = number % 2 == 0  # so that neither side is always the one that comes after
        a = ours() if first else None
        b = theirs()
        pairs.append((ours() if a is None else a, b))
        print(f"  {name}: {pairs[-1][0]:,.1f} against {pairs[-1][1]:,.1f} {unit}", flush=True)
    ratios = [mine / other for mine, other in pairs]
    return Comparison(
        name=name,
        work=work,
        against=against,
        unit=unit,
        ours=statistics.median(mine for mine, _ in pairs),
        theirs=statistics.median(other for _, other in pairs),
        ratio=statistics.median(ratios),
        lowest=min(ratios),
        highest=max(ratios),
        rounds=rounds,
        floor=floor,
        aim=aim,
    )


def apart(make: Callable[..., Callable[[], float]], *arguments: object) -> Callable[[], float]:
    """What `make(*arguments)` gives, in a process of its own: what one side asks of its process must not help the other."""
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    return lambda: pool.submit(_run_side, make, arguments).result()


_made: list[Callable[[], float]] = []  # in such a process, its side


def _run_side(make: Callable[..., Callable[[], float]], arguments: tuple[object, ...]) -> float:
    if not _made:
        _made.append(make(*arguments))
    return _made[0]()


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def read_results() -> dict[str, dict[str, Any]]:
    """What was measured so far, by name."""
    return dict(json.loads(RESULTS.read_text(encoding="utf-8"))) if RESULTS.exists() else {}


def write_result(name: str, values: Comparison | dict[str, Any]) -> None:
    """Keep one result, in place of an earlier one of its name."""
    record = asdict(values) if isinstance(values, Comparison) else values
    text = json.dumps({**read_results(), name: record}, indent=2, sort_keys=True)
    RESULTS.write_text(text + "\n", encoding="utf-8")
