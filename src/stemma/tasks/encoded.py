"""Inputs of rows that are made once for a tokenizer and a task, and shared by all seeds and variants.

They lie in the scratch folder as memory-mapped arrays, in a folder named by all that they depend on: the rows, the tokenizer,
the task and the code. What is damaged or half written is made anew; nothing is lost when they are removed. Left out on purpose:
tokenizers that can't be written down, such as jieba's, whose rows are encoded each time.
"""

import logging
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import tokenizers

from stemma.code import code_digest
from stemma.config import Task
from stemma.data.batches import Ragged
from stemma.data.workspace import scratch_root
from stemma.errors import StemmaError
from stemma.files import (
    atomic_dir,
    canonical_json,
    digest_bytes,
    read_json,
    verify_manifest,
    write_json,
    write_manifest,
)
from stemma.tasks import features as encoding
from stemma.tasks.features import Contexts, Features, encode_rows

__all__ = ["ENCODED", "encode_once"]

ENCODED: Final = "encoded"  # the folder, in the scratch folder
_COUNTS: Final = "counts.json"
_UNREADABLE: Final = (StemmaError, OSError, ValueError, KeyError, TypeError, AttributeError)

log = logging.getLogger(__name__)


def encode_once(rows: pa.Table, task: Task, tokenizer: tokenizers.Tokenizer, max_length: int) -> Features:
    """What `encode_rows` gives, if possible from what this or another process has made of the same before."""
    folder = _folder(rows, task, tokenizer, max_length)
    if folder is None:
        return encode_rows(rows, task, tokenizer, max_length)
    if folder.exists():
        try:
            return _load(folder)
        except _UNREADABLE as error:
            log.warning("%s is damaged (%s): its rows are encoded anew", folder, error)
    features = encode_rows(rows, task, tokenizer, max_length)
    try:
        _save(features, folder)
    except OSError as error:
        if not folder.exists():  # nor has another process put its own there in the meantime
            log.warning("%s could not be written (%s): its rows will be encoded again", folder, error)
    return features


def _folder(rows: pa.Table, task: Task, tokenizer: tokenizers.Tokenizer, max_length: int) -> Path | None:
    """Where inputs lie that depend on this; none where the tokenizer can't be told from others."""
    try:
        text = tokenizer.to_str()
    except Exception:  # noqa: BLE001 - the library has no narrower one for a part that is written in Python
        return None
    key = {
        "code": code_digest([encoding.__name__]),
        "max_length": max_length,
        "rows": _digest_rows(rows),
        "special_tokens_are_words": tokenizer.encode_special_tokens,
        "task": task.model_dump(mode="json"),
        "tokenizer": digest_bytes(text.encode()),
        "tokenizers": tokenizers.__version__,
    }
    return scratch_root() / ENCODED / digest_bytes(canonical_json(key).encode())[:32]


def _digest_rows(rows: pa.Table) -> str:
    """One sha256 over all columns, however they are cut to pieces."""
    whole = rows.replace_schema_metadata(None).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, whole.schema) as stream:
        stream.write_table(whole)
    return digest_bytes(sink.getvalue())


def _save(features: Features, folder: Path) -> None:
    with atomic_dir(folder) as temporary:
        for name, array in _arrays(features).items():
            np.save(temporary / f"{name}.npy", array, allow_pickle=False)
        write_json(temporary / _COUNTS, {"num_rows": features.num_rows, "together": features.together})
        write_manifest(temporary)


def _load(folder: Path) -> Features:
    files = set(verify_manifest(folder)["files"]) - {_COUNTS}
    arrays = {name.removesuffix(".npy"): _map(folder / name) for name in files}
    contexts = {name.removeprefix("contexts."): array for name, array in arrays.items() if name.startswith("contexts.")}
    return Features(
        ids=_ragged(arrays, "ids"),
        types=_ragged(arrays, "types"),
        rows=arrays["rows"],
        words=_ragged(arrays, "words") if "words.values" in arrays else None,
        contexts=Contexts(**contexts) if contexts else None,
        **read_json(folder / _COUNTS),
    )


def _arrays(features: Features) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {"rows": features.rows}
    for name, ragged in {"ids": features.ids, "types": features.types, "words": features.words}.items():
        if ragged is not None:
            arrays |= {f"{name}.values": ragged.values, f"{name}.offsets": ragged.offsets}
    if features.contexts is not None:
        arrays |= {f"contexts.{field.name}": getattr(features.contexts, field.name) for field in fields(Contexts)}
    return arrays


def _map(path: Path) -> npt.NDArray[Any]:
    """An array that stays on disk until it is looked at; a plain one to who uses it."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _ragged(arrays: dict[str, npt.NDArray[Any]], name: str) -> Ragged:
    return Ragged(arrays[f"{name}.values"], arrays[f"{name}.offsets"])
