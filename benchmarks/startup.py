"""Start-up: how much longer `stemma --help` takes than a bare Python that does nothing, the files being in memory."""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import timed, write_result

ROUNDS = 15
LIMIT = 0.3  # seconds


def main(folder: Path) -> None:  # noqa: ARG001 as all benchmarks are called
    """Measure and keep."""
    commands = [[str(Path(sys.executable).with_name("stemma")), "--help"], [sys.executable, "-c", "pass"]]
    seconds: list[list[float]] = [[], []]
    for _ in range(ROUNDS + 1):
        for command, times in zip(commands, seconds, strict=True):
            times.append(timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)))  # noqa: B023
    ours, bare = (statistics.median(times[1:]) for times in seconds)  # the first fills the file cache
    more = statistics.median(mine - other for mine, other in zip(*(times[1:] for times in seconds), strict=True))
    print(f"  startup: {ours:.3f} s against {bare:.3f} s")
    values: dict[str, object] = {
        "work": "start-up, `stemma --help`",
        "against": "`python -c pass`",
        "unit": "s",
        "ours": ours,
        "theirs": bare,
        "more": more,
        "limit": LIMIT,
        "rounds": ROUNDS,
    }
    write_result("startup", values)


if __name__ == "__main__":
    main(Path(tempfile.gettempdir()) / "stemma-bench")
