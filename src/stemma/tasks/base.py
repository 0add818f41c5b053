"""The shapes of task data: one row schema and one prediction schema a kind of task.

Rows of a task lie in `train.parquet`, `validation.parquet` and `test.parquet` of its folder.
"""

from typing import Final

import pyarrow as pa

from stemma.protocols import HeadKind

__all__ = ["ANSWERS", "PREDICTION_SCHEMAS", "ROW_SCHEMAS", "SPLITS"]

SPLITS: Final = ("train", "validation", "test")

# The column of a row that says what should be answered.
ANSWERS: Final[dict[HeadKind, str]] = {
    "classification": "label",
    "regression": "score",
    "span": "answers",
    "tagging": "tags",
    "choice": "label",
}

# `document` names the corpus document that an example was made from, "" when there is none.
ROW_SCHEMAS: Final[dict[HeadKind, pa.Schema]] = {
    "classification": pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document", pa.string(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("text_pair", pa.string()),
            pa.field("label", pa.string(), nullable=False),
        ]
    ),
    "regression": pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document", pa.string(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("text_pair", pa.string()),
            pa.field("score", pa.float64(), nullable=False),
        ]
    ),
    "span": pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document", pa.string(), nullable=False),
            pa.field("context", pa.string(), nullable=False),
            pa.field("question", pa.string(), nullable=False),
            pa.field("answers", pa.list_(pa.struct([("text", pa.string()), ("start", pa.int32())])), nullable=False),
        ]
    ),
    "tagging": pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document", pa.string(), nullable=False),
            pa.field("tokens", pa.list_(pa.string()), nullable=False),
            pa.field("tags", pa.list_(pa.string()), nullable=False),
        ]
    ),
    "choice": pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document", pa.string(), nullable=False),
            pa.field("context", pa.string(), nullable=False),
            pa.field("question", pa.string()),  # what stands before every choice, such as the beginning of a sentence
            pa.field("choices", pa.list_(pa.string()), nullable=False),
            pa.field("label", pa.string(), nullable=False),
        ]
    ),
}

# The task's labels name the choices of a row in their order; `text` is the one that was chosen.
# `start` and `end` are character offsets into the context, so that `text == context[start:end]`.
PREDICTION_SCHEMAS: Final[dict[HeadKind, pa.Schema]] = {
    "classification": pa.schema(
        [("id", pa.string()), ("label", pa.string()), ("probabilities", pa.list_(pa.float32()))]
    ),
    "regression": pa.schema([("id", pa.string()), ("score", pa.float32())]),
    "span": pa.schema(
        [
            ("id", pa.string()),
            ("text", pa.string()),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("score", pa.float32()),
        ]
    ),
    "tagging": pa.schema([("id", pa.string()), ("tags", pa.list_(pa.string()))]),
    "choice": pa.schema(
        [
            ("id", pa.string()),
            ("label", pa.string()),
            ("text", pa.string()),
            ("probabilities", pa.list_(pa.float32())),
        ]
    ),
}
