"""Rows that break a rule leave their input here, with the reason; the others go on."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.data.row_rules import Rule, Verdict, readable

__all__ = ["QUARANTINE_SCHEMA", "Inspection", "Judge", "QuarantineFile"]

# `input` is the file that the row stood in and `row` its position there; `where` is the line of the original file, as far as
# that is known; `content` is the whole row, as JSON.
QUARANTINE_SCHEMA: Final = pa.schema(
    [
        ("input", pa.string()),
        ("row", pa.int64()),
        ("where", pa.string()),
        ("id", pa.string()),
        ("reason", pa.string()),
        ("content", pa.string()),
    ]
)
SHOWN: Final = 5  # failing rows that an error shows


class Judge(Protocol):
    """Says which rows of a table fail which rule."""

    def judge(self, table: pa.Table, rules: Sequence[Rule]) -> list[Verdict]:
        """Check every rule on a table of derived columns; one verdict a rule, in their order."""


class QuarantineFile:
    """A parquet file of `QUARANTINE_SCHEMA`; there is one for every input, with or without rows."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(path, QUARANTINE_SCHEMA, compression="zstd", use_dictionary=False)

    def write(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add rows."""
        if rows:
            self._writer.write_table(pa.Table.from_pylist(list(rows), schema=QUARANTINE_SCHEMA))

    def __enter__(self) -> "QuarantineFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()


class Inspection:
    """One input under inspection: what was checked, how many rows failed, and what is wrong with it as a whole."""

    def __init__(self, name: str, rules: Sequence[Rule], judge: Judge, quarantine: QuarantineFile) -> None:
        self.name, self.num_rows, self.num_quarantined = name, 0, 0
        self.failures: Counter[str] = Counter()
        self.first_failures: list[str] = []
        self.facts: dict[str, Any] = {}
        self.problems: list[str] = []
        self._rules, self._judge, self._quarantine = tuple(rules), judge, quarantine
        self._results: dict[str, dict[str, Any]] = {}

    @property
    def num_passed(self) -> int:
        """How many rows broke no rule."""
        return self.num_rows - self.num_quarantined

    def sift(
        self, table: pa.Table, derived: pa.Table, file: str, first_row: int, where: Callable[[int], str] = lambda _: ""
    ) -> pa.Table:
        """Check the rows of a table by the columns derived from it, put those that fail aside, return the rest.

        `where` says of a row in which line of which original file it stood.
        """
        reasons = self._reasons(derived)
        refused = [
            {
                "input": file,
                "row": first_row + position,
                "where": where(first_row + position),
                "id": row["id"],
                "reason": reason,
                "content": _to_json(row),
            }
            for (position, reason), row in zip(reasons.items(), _take(table, reasons), strict=True)
        ]
        self._quarantine.write(refused)
        shown = [
            f"{row['where'] or row['input'] + ' row ' + str(row['row'])} id {row['id']!r}: {row['reason']}"
            for row in refused
        ]
        self.first_failures += shown[: SHOWN - len(self.first_failures)]
        self.num_rows += table.num_rows
        self.num_quarantined += len(refused)
        return table.filter(pa.array([position not in reasons for position in range(table.num_rows)], pa.bool_()))

    def conclude(self, figures: Mapping[str, float | str], rules: Sequence[Rule]) -> None:
        """Check rules on the input as a whole, given as a table of one row of figures."""
        row = {
            "passed": self.num_passed,
            "quarantined_share": self.num_quarantined / max(self.num_rows, 1),
            **figures,
        }
        verdicts = self._judge.judge(pa.table({name: [value] for name, value in row.items()}), rules)
        self._count(verdicts)
        failed = (verdict.rule for verdict in verdicts if not verdict.success)
        self.problems += [rule.reason.format_map({**row, **rule.kwargs}) for rule in failed]

    def report(self) -> dict[str, Any]:
        """All that was found, as plain values."""
        return {
            "rows": self.num_rows,
            "problems": self.problems,
            "quarantined": self.num_quarantined,
            "failures": dict(self.failures),
            "facts": self.facts,
            "results": list(self._results.values()),
        }

    def _reasons(self, derived: pa.Table) -> dict[int, str]:
        """For each position that fails, the reasons, joined."""
        verdicts = self._judge.judge(derived, self._rules)
        self._count(verdicts)
        found: dict[int, list[str]] = {}
        for verdict in verdicts:
            self.failures.update({verdict.rule.name: len(verdict.failing)} if verdict.failing else {})
            for position, row in zip(verdict.failing, _take(derived, verdict.failing), strict=True):
                reason = verdict.rule.reason.format_map({**row, **verdict.rule.kwargs})
                found.setdefault(position, []).append(reason)
        return {position: "; ".join(found[position]) for position in sorted(found)}

    def _count(self, verdicts: Iterable[Verdict]) -> None:
        for verdict in verdicts:
            rule = verdict.rule
            entry = self._results.setdefault(
                rule.name,
                {
                    "rule": rule.name,
                    "type": rule.expectation,
                    "kwargs": dict(rule.kwargs),
                    "success": True,
                    "result": {},
                },
            )
            entry["success"] = entry["success"] and verdict.success
            for name, value in verdict.result.items():
                entry["result"][name] = entry["result"].get(name, 0) + value if name.endswith("_count") else value


def _take(table: pa.Table, positions: Iterable[int]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = readable(table.take(pa.array(positions, pa.int64())))[0].to_pylist()
    return rows


def _to_json(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, sort_keys=True)
