"""What a variant answered to each question of a probe, as parquet: kept so that figures and comparisons need no model.

A row a question, in the probe's order. Null is a question that could not be asked, for want of a vector.
"""

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.errors import InputError
from stemma.tasks.probes import ProbeKind

__all__ = ["ANSWER_SCHEMAS", "answers_path", "read_answers", "write_answers"]

ANSWER_SCHEMAS: Final[dict[ProbeKind, pa.Schema]] = {
    "similarity": pa.schema(
        [("cosine", pa.float64()), ("composed", pa.bool_())]
    ),  # were vectors put together from parts?
    "analogy": pa.schema([("answer", pa.string()), ("right", pa.bool_())]),
    "minimal-pairs": pa.schema([("points", pa.float32())]),  # 1, 0, or one half for a tie
}


def answers_path(folder: Path, probe: str, variant: str) -> Path:
    """Where a folder of predictions holds a variant's answers to a probe."""
    return folder / "probes" / probe / f"{variant}.parquet"


def write_answers(path: Path, kind: ProbeKind, answers: pa.Table) -> None:
    """Write a variant's answers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(answers.cast(ANSWER_SCHEMAS[kind]), path, compression="zstd")


def read_answers(path: Path, kind: ProbeKind, num_questions: int) -> pa.Table:
    """Read back what `write_answers` wrote: answers to so many questions."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; run `dvc repro evaluate`")
    table = pq.read_table(path)
    if not table.schema.equals(ANSWER_SCHEMAS[kind]) or len(table) != num_questions:
        raise InputError(
            f"{path}: not the answers to the {num_questions:,} questions there are; run `dvc repro evaluate`"
        )
    return table
