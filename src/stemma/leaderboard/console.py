"""The leaderboard in a terminal: as many tasks side by side as fit, then the rest."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stemma.leaderboard import cells
from stemma.leaderboard.markdown import published_effect

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["comparison_table", "console_tables"]

_NAME, _CELL = 24, 26  # characters that a row's name and a figure take
_PUBLISHED: Final = "Published figures, none measured here; (…) is a metric that is not ours"


def console_tables(table: Mapping[str, Any], made: Mapping[str, Sequence[str]], width: int) -> "Iterator[Table]":
    """All of it, as wide as the terminal; `made` says of each variant what made it: a hash, and seconds."""
    step = max(1, (width - _NAME) // _CELL)
    for begin in range(0, len(table["columns"]), step):
        columns = table["columns"][begin : begin + step]
        rows = [
            [_lines(row["name"], row["head"]), *(_cell(row["cells"].get(one["name"]), one) for one in columns)]
            for row in table["rows"]
        ]
        yield _table("Mean over seeds, and interval", ["", *map(_heading, columns)], rows)
    for begin in range(0, len(table["columns"]), step):
        columns = table["columns"][begin : begin + step]
        rows = list(_published(table, columns))
        if rows:
            heads = [_lines(column["name"], column["note"]) for column in columns]
            yield _table(_PUBLISHED, ["", *heads, "source"], rows)
    effects = [
        [
            f"{one['variant']} − {one['base']}",
            _lines(one["what"], one["budget"]),
            effect["column"],
            cells.difference(effect),
            published_effect(effect),
            effect["verdict"],
        ]
        for one in table["ablations"]
        for effect in one["effects"]
    ]
    if effects:
        header = ["", "change", "task", "effect here", "published effect", "verdict"]
        yield _table("Ablations beside the published effect", header, effects)
    missing = [[name, ", ".join(columns), why] for name, why, columns in cells.group_missing(table["missing"])]
    if missing:
        yield _table("Not run, and why", ["", "tasks", "reason"], missing)
    if made:
        header = ["", "hash in dvc.lock", "seconds of pretraining", "seconds of fine-tuning"]
        yield _table("What made it", header, [[name, *facts] for name, facts in made.items()])


def comparison_table(compared: Sequence[Mapping[str, Any]]) -> "Table":
    """Two rows on each of their tasks and probes."""
    first, second = compared[0]["first"], compared[0]["second"]
    rows = [
        [
            one["task"],
            cells.number(one),
            cells.difference(one),
            cells.p_value(one["p_value"]),
            cells.p_value(one["holm"]),
            ", ".join(map(cells.p_value, one["mcnemar"])) or cells.NONE,
            cells.smallest(one["smallest_effect"]),
        ]
        for one in compared
    ]
    header = ["", "n", "difference", "p", "p (Holm)", "p (McNemar)", "smallest effect"]
    return _table(
        f"{first} − {second}: paired bootstrap over seeds and examples; McNemar for each seed; power 0.8", header, rows
    )


def _heading(column: Mapping[str, Any]) -> str:
    told = f"{column['metric'].replace('_', ' ')}, n {column['n']:,}"
    return _lines(column["name"], told, column["note"])


def _cell(cell: Mapping[str, Any] | None, column: Mapping[str, Any]) -> str:
    if cell is None:
        return cells.NONE
    notes = ", ".join(filter(None, [cells.seeds_note(cell), cells.degenerate_note(cell)]))
    return _lines(cells.score(cell), cells.second(cell, column), notes)


def _lines(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _published(table: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    for row in table["published"]:
        found = [(row["cells"].get(column["name"]), column["metric"]) for column in columns]
        if any(cell for cell, _ in found):
            figures = [_published_cell(cell, metric) for cell, metric in found]
            yield [f"{row['name']} ({row['split']})", *figures, row["source"]]


def _published_cell(cell: Mapping[str, Any] | None, metric: str) -> str:
    if cell is None:
        return cells.NONE
    return f"{cell['value']:.3f}" + ("" if cell["metric"] == metric else f" ({cell['metric'].replace('_', ' ')})")


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for name in header:
        table.add_column(Text(name))
    for row in rows:
        table.add_row(*map(Text, row))  # text, not markup: an answer or a name may have brackets
    return table
