"""Where a training step's time goes: operations by their own time, beside the machine's matrix-multiply rate."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import torch
from torch.profiler import ProfilerActivity, profile

__all__ = ["Hotspot", "Hotspots", "find_hotspots", "matrix_rate"]

_WARM_UP: Final = 2  # steps before the clock runs
_STEPS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Hotspot:
    """One kind of operation."""

    name: str
    share: float  # of a step
    milliseconds: float  # a step
    calls: float  # a step


@dataclass(frozen=True, kw_only=True)
class Hotspots:
    """What a step costs."""

    milliseconds: float  # a step, without the profiler
    tokens_per_second: float
    matrix_share: float  # of the machine's matrix-multiply rate, by the products that a step really makes
    top: list[Hotspot]


def find_hotspots(steps: Iterator[int], *, most: int = 12) -> Hotspots:
    """Take some steps, each giving its number of tokens, first by the clock and then with the profiler."""
    for _ in range(_WARM_UP):
        next(steps)
    begun = time.perf_counter()
    num_tokens = sum(next(steps) for _ in range(_STEPS))
    seconds = time.perf_counter() - begun
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiler:
        for _ in range(_STEPS):
            next(steps)
    events = profiler.key_averages()
    total = sum(event.self_cpu_time_total for event in events)
    products = sum(event.flops or 0 for event in events) / _STEPS
    top = [
        Hotspot(
            name=event.key,
            share=event.self_cpu_time_total / total,
            milliseconds=event.self_cpu_time_total / _STEPS / 1000,
            calls=event.count / _STEPS,
        )
        for event in sorted(events, key=lambda event: event.self_cpu_time_total, reverse=True)[:most]
    ]
    return Hotspots(
        milliseconds=1000 * seconds / _STEPS,
        tokens_per_second=num_tokens / seconds,
        matrix_share=products / (seconds / _STEPS) / matrix_rate(),
        top=top,
    )


def matrix_rate(size: int = 1024, rounds: int = 20) -> float:
    """How many floating-point operations a second a product of two square matrices reaches; the best of some rounds."""
    left, right = torch.randn(2, size, size)
    best = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        torch.mm(left, right)
        best = min(best, time.perf_counter() - begun)
    return 2 * size**3 / best
