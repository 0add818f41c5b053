"""Task rows as token ids: `[CLS] text [SEP]` or `[CLS] A [SEP] B [SEP]`, one or more inputs a row.

Texts go through the tokenizer in blocks, each distinct word or context once; the rest is whole-array work. Classification
cuts the longer text first; a tagged sentence is cut at its end, and where the task says so it stands in what surrounds it in its
document, which no tag is asked for; a context that is too long becomes windows that overlap.
Every choice of a row is an input: `[CLS] context [SEP] question choice [SEP]`, cut as a pair of texts is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import tokenizers

from stemma.config import Task
from stemma.data.batches import Ragged, slice_indices
from stemma.errors import InputError
from stemma.protocols import HeadKind
from stemma.tasks.document_context import find_context

__all__ = ["Contexts", "Features", "answer_columns", "encode_rows", "label_codes", "tag_targets"]

Ints = npt.NDArray[np.int64]
_BLOCK: Final = 1000  # texts that go through the tokenizer at once
_OUTSIDE: Final = -100  # what no loss is computed for
_FAR: Final = 1 << 32  # more characters than a context has
_NEEDED: Final[dict[HeadKind, list[str]]] = {
    "classification": ["text"],
    "regression": ["text"],
    "span": ["context", "question"],
    "tagging": ["tokens"],
    "choice": ["context", "choices"],
}


@dataclass(frozen=True, kw_only=True)
class Contexts:
    """Where windows lie in their contexts, and contexts in their text."""

    first_column: Ints  # (inputs,): where the context begins in the input
    first_token: Ints  # (inputs,): which of all contexts' tokens stands there
    num_tokens: Ints  # (inputs,): how many follow
    of_row: Ints  # (rows,): which context a row asks about
    tokens: Ints  # (contexts + 1,): where each context begins among all their tokens
    starts: Ints  # (tokens,): a token's first character
    ends: Ints  # (tokens,): and the one behind its last


@dataclass(frozen=True, kw_only=True)
class Features:
    """The inputs of some rows."""

    ids: Ragged  # an input a row of it
    types: Ragged
    rows: Ints  # (inputs,): which row an input belongs to
    num_rows: int
    words: Ragged | None = None  # tagging: which of all words a token begins, -1 for none
    contexts: Contexts | None = None  # span
    together: int = 1  # how many inputs in a row are learned from together: the choices of a row


def encode_rows(rows: pa.Table, task: Task, tokenizer: tokenizers.Tokenizer, max_length: int) -> Features:
    """The inputs of a task's rows, at most `max_length` tokens each; labels are not looked at."""
    needed = _NEEDED[task.kind]
    for column in needed:
        if column not in rows.column_names:
            raise InputError(f"column {column!r} is missing: a {task.kind} task needs {', '.join(['id', *needed])}")
    if task.kind in ("classification", "regression"):
        texts, pairs = rows["text"].to_pylist(), _optional(rows, "text_pair")
        return _encode_texts(list(zip(texts, pairs, strict=True)), tokenizer, max_length)
    if task.kind == "choice":
        return _encode_choices(rows, tokenizer, max_length, len(task.labels))
    if task.kind == "tagging":
        documents = rows["document"] if task.document_context and "document" in rows.column_names else None
        return _encode_words(rows, tokenizer, max_length, documents)
    return _encode_windows(rows, tokenizer, max_length, task.stride)


def label_codes(rows: pa.Table, labels: Sequence[str]) -> Ints:
    """Each row's label as its place among `labels`."""
    return _codes(rows["label"], labels, rows["id"], "label")


def tag_targets(rows: pa.Table, features: Features, labels: Sequence[str]) -> Ragged:
    """Each token's tag as its place among `labels`; -100 where a token does not begin a word."""
    assert features.words is not None
    lengths = pc.list_value_length(rows["tags"]).to_numpy()
    wrong = np.flatnonzero(lengths != pc.list_value_length(rows["tokens"]).to_numpy())
    if len(wrong):
        raise InputError(f"row {rows['id'][int(wrong[0])].as_py()!r}: tokens and tags differ in number")
    ids = rows["id"].take(pa.array(np.repeat(np.arange(len(rows)), lengths)))
    tags = np.append(_codes(pc.list_flatten(rows["tags"]), labels, ids, "tag"), _OUTSIDE)  # word -1 is the last
    return Ragged(tags[features.words.values], features.words.offsets)


def answer_columns(rows: pa.Table, features: Features) -> Ints:
    """The first and last column (inputs, 2) of each row's first answer; those of [CLS] where an input has not all of it."""
    contexts = features.contexts
    assert contexts is not None
    answers = [
        (given[0]["start"], len(given[0]["text"])) if given else (-1, 0) for given in rows["answers"].to_pylist()
    ]
    begin, num_characters = np.array(answers, np.int64).reshape(-1, 2).T
    end = begin + num_characters
    base = contexts.of_row * _FAR  # texts laid end to end, far apart: one search finds all
    owner = np.repeat(np.arange(len(contexts.tokens) - 1), np.diff(contexts.tokens)) * _FAR
    first = np.searchsorted(owner + contexts.ends, base + begin, side="right")[features.rows]
    last = (np.searchsorted(owner + contexts.starts, base + end, side="left") - 1)[features.rows]
    inside = (first >= contexts.first_token) & (last < contexts.first_token + contexts.num_tokens) & (first <= last)
    inside &= (begin >= 0)[features.rows]
    columns = np.stack([first, last], axis=1) + (contexts.first_column - contexts.first_token)[:, None]
    return np.where(inside[:, None], columns, 0)


def _codes(values: pa.ChunkedArray, names: Sequence[str], ids: pa.ChunkedArray, what: str) -> Ints:
    codes = pc.index_in(values, value_set=pa.array(names, pa.string()))
    if codes.null_count:
        at = pc.index(pc.is_null(codes), True).as_py()
        raise InputError(f"row {ids[at].as_py()!r}: {what} {values[at].as_py()!r} is not one of {', '.join(names)}")
    return np.asarray(codes.to_numpy(), dtype=np.int64)


def _encode_choices(rows: pa.Table, tokenizer: tokenizers.Tokenizer, max_length: int, num_choices: int) -> Features:
    inputs: list[tuple[str, str | None]] = []
    asked = zip(rows["id"], rows["context"].to_pylist(), _optional(rows, "question"), rows["choices"], strict=True)
    for id_, context, question, choices in asked:
        if len(choices) != num_choices:
            raise InputError(f"row {id_.as_py()!r}: {len(choices)} choices, expected {num_choices}")
        begin = "" if question is None else f"{question} "
        inputs += [(context, begin + choice) for choice in choices.as_py()]
    features = _encode_texts(inputs, tokenizer, max_length)
    owners = np.repeat(np.arange(len(rows)), num_choices)
    return replace(features, rows=owners, num_rows=len(rows), together=num_choices)


def _optional(rows: pa.Table, column: str) -> list[str | None]:
    values: list[str | None] = rows[column].to_pylist() if column in rows.column_names else [None] * len(rows)
    return values


def _encode_texts(texts: list[tuple[str, str | None]], tokenizer: tokenizers.Tokenizer, max_length: int) -> Features:
    cutting = _copy(tokenizer)
    cutting.enable_truncation(max_length, strategy="longest_first")
    inputs = [text if pair is None else (text, pair) for text, pair in texts]
    ids, types = [], []
    for block in _blocks(inputs):
        encodings = cutting.encode_batch_fast(block)
        ids.append(Ragged.from_rows([encoding.ids for encoding in encodings], np.int32))
        types.append(Ragged.from_rows([encoding.type_ids for encoding in encodings], np.int8))
    return Features(
        ids=_joined(ids, np.int32), types=_joined(types, np.int8), rows=np.arange(len(texts)), num_rows=len(texts)
    )


def _encode_words(
    rows: pa.Table, tokenizer: tokenizers.Tokenizer, max_length: int, documents: pa.ChunkedArray | None
) -> Features:
    distinct = pc.list_flatten(rows["tokens"]).combine_chunks().dictionary_encode()
    codes = distinct.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    pieces = _encode_plain(distinct.dictionary.to_pylist(), tokenizer).take(codes)  # (words,)
    num_words = pc.list_value_length(rows["tokens"]).to_numpy().astype(np.int64)
    words = np.full(len(pieces.values), -1, np.int64)  # the word that each piece begins
    words[pieces.offsets[:-1][pieces.lengths > 0]] = np.flatnonzero(pieces.lengths > 0)
    word_offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(num_words)])
    starts = pieces.offsets[word_offsets]  # where a sentence's pieces begin
    own = np.minimum(np.diff(starts), max_length - 2)
    first, lengths = starts[:-1], own
    if documents is not None:
        context = find_context(documents, starts, max_length - 2)
        first, lengths = first - context.before, context.before + own + context.behind
    ids, inner = _frame(tokenizer, pieces.values[slice_indices(first, lengths)], lengths)
    begins = np.full(len(ids.values), -1, np.int64)
    middle = (
        np.cumsum(lengths) - lengths + starts[:-1] - first
    )  # where a row's own pieces begin among those of all inputs
    begins[inner[slice_indices(middle, own)]] = words[slice_indices(starts[:-1], own)]
    return Features(
        ids=ids,
        types=Ragged(np.zeros(len(ids.values), np.int8), ids.offsets),
        rows=np.arange(len(rows)),
        num_rows=len(rows),
        words=Ragged(begins, ids.offsets),
    )


def _encode_windows(rows: pa.Table, tokenizer: tokenizers.Tokenizer, max_length: int, stride: int) -> Features:
    distinct = rows["context"].combine_chunks().dictionary_encode()
    of_row = distinct.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    tokens, characters = _encode_with_offsets(distinct.dictionary.to_pylist(), tokenizer)
    questions = _encode_plain(rows["question"].to_pylist(), tokenizer)
    asked = np.minimum(questions.lengths, (max_length - 3) // 2)  # a question never takes more than half of an input
    room = max_length - 3 - asked
    step = room - np.minimum(stride, room // 2)
    length = tokens.lengths[of_row]
    counts = 1 + np.maximum(0, -(-(length - room) // step))  # windows a row
    row = np.repeat(np.arange(len(rows)), counts)
    start = (np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)) * step[row]
    num_tokens = np.minimum(room[row], length[row] - start)
    first_token = tokens.offsets[of_row[row]] + start
    ids, types = _frame_pair(
        tokenizer,
        questions.values[slice_indices(questions.offsets[row], asked[row])],
        asked[row],
        tokens.values[slice_indices(first_token, num_tokens)],
        num_tokens,
    )
    contexts = Contexts(
        first_column=asked[row] + 2,
        first_token=first_token,
        num_tokens=num_tokens,
        of_row=of_row,
        tokens=tokens.offsets,
        starts=characters[:, 0],
        ends=characters[:, 1],
    )
    return Features(ids=ids, types=types, rows=row, num_rows=len(rows), contexts=contexts)


def _frame(tokenizer: tokenizers.Tokenizer, values: npt.NDArray[Any], lengths: Ints) -> tuple[Ragged, Ints]:
    """Rows between [CLS] and [SEP], and where they lie in the result."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths + 2)])
    result = np.full(int(offsets[-1]), _id(tokenizer, "[SEP]"), np.int32)
    result[offsets[:-1]] = _id(tokenizer, "[CLS]")
    inner = slice_indices(offsets[:-1] + 1, lengths)
    result[inner] = values
    return Ragged(result, offsets), inner


def _frame_pair(
    tokenizer: tokenizers.Tokenizer,
    first: npt.NDArray[Any],
    first_lengths: Ints,
    second: npt.NDArray[Any],
    second_lengths: Ints,
) -> tuple[Ragged, Ragged]:
    """`[CLS] A [SEP] B [SEP]`, and 1 from B on."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(first_lengths + second_lengths + 3)])
    result = np.full(int(offsets[-1]), _id(tokenizer, "[SEP]"), np.int32)
    result[offsets[:-1]] = _id(tokenizer, "[CLS]")
    result[slice_indices(offsets[:-1] + 1, first_lengths)] = first
    begin = offsets[:-1] + first_lengths + 2
    result[slice_indices(begin, second_lengths)] = second
    types = np.zeros(len(result), np.int8)
    types[slice_indices(begin, second_lengths + 1)] = 1
    return Ragged(result, offsets), Ragged(types, offsets)


def _id(tokenizer: tokenizers.Tokenizer, token: str) -> int:
    id_: int | None = tokenizer.token_to_id(token)
    if id_ is None:
        raise InputError(f"the tokenizer has no {token}: this model can't be used for tasks")
    return id_


def _encode_plain(texts: list[str], tokenizer: tokenizers.Tokenizer) -> Ragged:
    parts = [
        Ragged.from_rows(
            [encoding.ids for encoding in tokenizer.encode_batch_fast(block, add_special_tokens=False)], np.int32
        )
        for block in _blocks(texts)
    ]
    return _joined(parts, np.int32)


def _encode_with_offsets(texts: list[str], tokenizer: tokenizers.Tokenizer) -> tuple[Ragged, Ints]:
    """Ids, and each token's first and last character (tokens, 2)."""
    ids, characters = [], [np.zeros((0, 2), np.int64)]
    for block in _blocks(texts):
        encodings = tokenizer.encode_batch(block, add_special_tokens=False)
        ids.append(Ragged.from_rows([encoding.ids for encoding in encodings], np.int32))
        characters += [np.array(encoding.offsets, np.int64).reshape(-1, 2) for encoding in encodings]
    return _joined(ids, np.int32), np.concatenate(characters)


def _joined(parts: list[Ragged], dtype: npt.DTypeLike) -> Ragged:
    return Ragged.concatenate(parts) if parts else Ragged.from_rows([], dtype)


def _blocks(items: list[Any]) -> Iterator[list[Any]]:
    return (items[start : start + _BLOCK] for start in range(0, len(items), _BLOCK))


def _copy(tokenizer: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """One whose truncation may be set; made of the other's parts, for not all can be written down (jieba's can't)."""
    copy = tokenizers.Tokenizer(tokenizer.model)
    copy.normalizer, copy.pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    copy.post_processor, copy.decoder = tokenizer.post_processor, tokenizer.decoder
    for _, token in sorted(tokenizer.get_added_tokens_decoder().items()):
        (copy.add_special_tokens if token.special else copy.add_tokens)([token])
    copy.encode_special_tokens = tokenizer.encode_special_tokens
    return copy
