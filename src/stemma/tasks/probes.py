"""Probes: questions that no training prepares a model for, from public sets in their original formats.

similarity      two words and how alike people found them, a line each, between tabs or spaces
analogy         four words a line, A : B = C : D, below lines `: section`, where D may be several right words between slashes;
                or a word and its partner a line, as BATS has a file a relation: every two lines are a question, in which
                the first of several partners is shown and any of them answers; or a .csv with MSR's columns
minimal-pairs   BLiMP's lines of JSON, see `blimp`. Some of its pairs are twice the same sentence: a tie for every model

In the first two, lines that are empty or begin with `#` are passed over, as is the line of column names that WordSim-353 and
SimLex-999 come with.
Words stay as they are written; it is for those who ask to spell them as a model does.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.data.compression import plain_name
from stemma.data.input_files import InputFile
from stemma.data.lines import read_lines
from stemma.errors import InputError
from stemma.tasks.blimp import MinimalPair, PairCount, read_blimp
from stemma.tasks.sampling import lowest_hashes

__all__ = ["PROBE_SCHEMAS", "ProbeKind", "Row", "probe_path", "read_probe", "read_questions", "write_probe"]

ProbeKind = Literal["similarity", "analogy", "minimal-pairs"]
Row = dict[str, Any]

PROBE_SCHEMAS: Final[dict[ProbeKind, pa.Schema]] = {
    "similarity": pa.schema([("first", pa.string()), ("second", pa.string()), ("score", pa.float64())]),
    "analogy": pa.schema([(name, pa.string()) for name in ("section", "first", "second", "third", "answer")]),
    "minimal-pairs": pa.schema([(name, pa.string()) for name in ("paradigm", "phenomenon", "good", "bad")]),
}
_SCORE_COLUMNS: Final = ("simlex999", "human (mean)", "score")  # where the sets that name their columns have it
_MSR_COLUMNS: Final = ("type", "word1", "word2", "word3", "target")


def read_questions(
    files: Iterable[InputFile], kind: ProbeKind, max_pairs: int | None = None, count: PairCount | None = None
) -> Iterator[Row]:
    """The questions of original files, in their order; of minimal pairs so many of each paradigm at most.

    What the files hold of BLiMP's own pairs, taken or not, is added to `count`.
    """
    if kind == "minimal-pairs":
        yield from _read_pairs(files, max_pairs, count)
        return
    read = _READERS[kind]
    for file in files:
        rows = 0
        for rows, row in enumerate(read(file), start=1):  # noqa: B007 - counted, to see that there are any
            yield row
        if not rows:
            raise InputError(f"{file.name}: no questions in the file")


def probe_path(folder: Path, name: str) -> Path:
    """Where a folder of probes holds one."""
    return folder / f"{name}.parquet"


def write_probe(path: Path, kind: ProbeKind, rows: Iterable[Row]) -> int:
    """Write a probe's questions as parquet; how many there are."""
    table = pa.Table.from_pylist(list(rows), schema=PROBE_SCHEMAS[kind])
    pq.write_table(table, path, compression="zstd")
    return len(table)


def read_probe(path: Path, kind: ProbeKind) -> dict[str, list[Any]]:
    """The columns of what `write_probe` wrote."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; run `dvc repro prepare`")
    table = pq.read_table(path)
    if not table.schema.equals(PROBE_SCHEMAS[kind]):
        raise InputError(f"{path}: holds no {kind} probe; run `dvc repro prepare`")
    columns: dict[str, list[Any]] = table.to_pydict()
    return columns


def _read_similarity(file: InputFile) -> Iterator[Row]:
    width, place = 3, 2  # columns, and which of them is the score
    for number, (where, fields) in enumerate(_fields(file)):
        named = [name for name in _SCORE_COLUMNS if name in map(str.lower, fields)]
        if number == 0 and named:
            width, place = len(fields), [field.lower() for field in fields].index(named[0])
            continue
        if len(fields) != width:
            raise InputError(f"{where}: expected two words and a score, found {len(fields)} columns instead of {width}")
        yield {"first": fields[0], "second": fields[1], "score": _number(fields[place], where)}


def _read_analogies(file: InputFile) -> Iterator[Row]:
    if plain_name(file.name).endswith(".csv"):
        return _read_msr(file)
    _, first = next(_fields(file), ("", ()))
    if len(first) == 2 and not first[0].startswith(":"):
        return _read_bats(file)
    return _read_google(file)


def _read_google(file: InputFile) -> Iterator[Row]:
    section = ""
    for where, fields in _fields(file):
        if fields[0].startswith(":"):
            section = " ".join(fields).removeprefix(":").strip()
            if not section:
                raise InputError(f"{where}: a section without a name; write ': name'")
            continue
        if len(fields) != 4:
            raise InputError(f"{where}: expected four words, found {len(fields)}")
        yield _question(section, *fields)


def _read_bats(file: InputFile) -> Iterator[Row]:
    """Every two pairs of a relation, in both orders (Gladkova et al. 2016); the file's name is that of the relation."""
    pairs = []
    for where, fields in _fields(file):
        partners = [word for word in fields[-1].split("/") if word]
        if len(fields) != 2 or not partners:
            raise InputError(f"{where}: expected a word and its partners, found {len(fields)} columns")
        pairs.append((fields[0], partners))
    section = plain_name(file.name.split("/")[-1]).removesuffix(".txt")
    for (first, partners), (third, answers) in permutations(pairs, 2):
        yield _question(section, first, partners[0], third, "/".join(answers))


def _read_msr(file: InputFile) -> Iterator[Row]:
    """MSR's questions (Mikolov et al. 2013), a line each, below their columns' names; no word has a comma or a quote."""
    lines = ((number, line.split(",")) for number, line in read_lines(file.path, file.name) if line)
    number, header = next(lines, (1, []))
    missing = [name for name in _MSR_COLUMNS if name not in header]
    if missing:
        raise InputError(f"{file.name}:{number}: no column {missing[0]!r}; expected {', '.join(_MSR_COLUMNS)}")
    places = [header.index(name) for name in _MSR_COLUMNS]
    for number, fields in lines:
        if len(fields) != len(header):
            raise InputError(f"{file.name}:{number}: {len(fields)} columns, expected {len(header)}")
        yield _question(*(fields[place] for place in places))


def _question(*values: str) -> Row:
    return dict(zip(PROBE_SCHEMAS["analogy"].names, values, strict=True))


def _read_pairs(files: Iterable[InputFile], most: int | None, count: PairCount | None) -> Iterator[Row]:
    pairs = read_blimp(files, count)
    for pair in pairs if most is None else _some_of_each_paradigm(pairs, most):
        yield {"paradigm": pair.paradigm, "phenomenon": pair.phenomenon, "good": pair.good, "bad": pair.bad}


def _some_of_each_paradigm(pairs: Iterable[MinimalPair], most: int) -> Iterator[MinimalPair]:
    paradigms: dict[str, list[MinimalPair]] = {}
    for pair in pairs:
        paradigms.setdefault(pair.paradigm, []).append(pair)
    for of_one in paradigms.values():
        yield from lowest_hashes(of_one, most, lambda pair: pair.id)


def _fields(file: InputFile) -> Iterator[tuple[str, Sequence[str]]]:
    """The columns of the lines that say something, with their place in the file."""
    for number, line in read_lines(file.path, file.name):
        text = line.strip()
        if text and not text.startswith("#"):
            fields = text.split("\t") if "\t" in text else text.split()
            yield f"{file.name}:{number}", [field.strip() for field in fields]


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: the score {text!r} is not a number")
    return value


_READERS: Final = {"similarity": _read_similarity, "analogy": _read_analogies}
