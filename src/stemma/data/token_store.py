"""Token ids of a corpus split on disk: flat arrays with sentence and document offsets, memory-mapped, in shards.

A shard is named by the sha256 of what it holds, so that equal text and an equal tokenizer give equal names in any process
and thread pool. `index.json` has the order of the shards and the counts. Ids are stored without special tokens.

<shard>.ids.npy         uint16 or uint32, (tokens,)
<shard>.sentences.npy   int64, (sentences + 1,): where each sentence begins among the shard's tokens
<shard>.documents.npy   int64, (documents + 1,): where each document begins among the shard's sentences
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stemma.errors import CorruptionError
from stemma.files import read_json, write_json

__all__ = ["INDEX", "Shard", "TokenStore", "TokenStoreWriter", "id_dtype"]

INDEX: Final = "index.json"
TOKENS_PER_SHARD: Final = 16 << 20
_STEP: Final = 1 << 16
Ids = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]


def id_dtype(vocabulary_size: int) -> np.dtype[Any]:
    """The smallest of the two types that holds every id of a vocabulary."""
    return np.dtype(np.uint16 if vocabulary_size <= 1 << 16 else np.uint32)


@dataclass(frozen=True, kw_only=True)
class Shard:
    """The memory-mapped arrays of one shard."""

    ids: Ids
    sentences: Offsets
    documents: Offsets


class TokenStore:
    """A split of a tokenized corpus, read through memory maps: opening it reads the index alone."""

    def __init__(self, folder: Path, index: dict[str, Any]) -> None:
        self._folder, self._index = folder, index
        self._shards: dict[int, Shard] = {}
        self._first_sentence = _starts(shard["sentences"] for shard in index["shards"])
        self._first_document = _starts(shard["documents"] for shard in index["shards"])

    @classmethod
    def open(cls, folder: Path) -> "TokenStore":
        """Open the store in `folder`."""
        index = read_json(folder / INDEX)
        for shard in index["shards"]:
            for kind in ("ids", "sentences", "documents"):
                path = _array_path(folder, shard["name"], kind)
                if not path.is_file():
                    raise CorruptionError(f"{path}: named in {INDEX} but missing; restore it or run `tokenize` again")
        return cls(folder, index)

    @property
    def num_tokens(self) -> int:
        """How many ids it holds."""
        return int(self._index["tokens"])

    @property
    def num_sentences(self) -> int:
        """How many sentences it holds."""
        return int(self._index["sentences"])

    @property
    def num_documents(self) -> int:
        """How many documents it holds."""
        return int(self._index["documents"])

    @property
    def num_bytes(self) -> int:
        """How many bytes of UTF-8 the sentences had, for bits per byte."""
        return int(self._index["bytes"])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the ids."""
        return np.dtype(str(self._index["dtype"]))

    def sentence(self, index: int) -> Ids:
        """The ids of a sentence, as a slice of the memory map."""
        _check_range("sentence", index, self.num_sentences)
        number = int(np.searchsorted(self._first_sentence, index, side="right")) - 1
        shard = self.shard(number)
        local = index - int(self._first_sentence[number])
        return shard.ids[int(shard.sentences[local]) : int(shard.sentences[local + 1])]

    def document(self, index: int) -> range:
        """The sentences of a document."""
        _check_range("document", index, self.num_documents)
        number = int(np.searchsorted(self._first_document, index, side="right")) - 1
        shard = self.shard(number)
        local = index - int(self._first_document[number])
        base = int(self._first_sentence[number])
        return range(base + int(shard.documents[local]), base + int(shard.documents[local + 1]))

    def document_of(self, sentence: int) -> int:
        """The document that a sentence belongs to."""
        _check_range("sentence", sentence, self.num_sentences)
        number = int(np.searchsorted(self._first_sentence, sentence, side="right")) - 1
        local = sentence - int(self._first_sentence[number])
        within = int(np.searchsorted(self.shard(number).documents, local, side="right")) - 1
        return int(self._first_document[number]) + within

    def sentence_lengths(self) -> Offsets:
        """The number of ids of every sentence, in order."""
        lengths = [np.diff(shard.sentences) for shard in self.shards()]
        return np.concatenate(lengths) if lengths else np.zeros(0, dtype=np.int64)

    def shards(self) -> Iterator[Shard]:
        """The shards in order, for work on whole arrays; no document lies in two of them.

        They are mapped anew and not kept, so that a pass over a corpus does not end with all of it in memory.
        """
        return (self._map(number) for number in range(len(self._index["shards"])))

    def shard(self, number: int) -> Shard:
        """One shard, mapped on first use."""
        if number not in self._shards:
            self._shards[number] = self._map(number)
        return self._shards[number]

    def verify(self) -> None:
        """Hash every shard again and compare with its name."""
        for number, entry in enumerate(self._index["shards"]):
            if _name_of(self._map(number)) != entry["name"]:
                path = _array_path(self._folder, entry["name"], "ids")
                raise CorruptionError(f"{path}: the shard's content does not match its name; run `tokenize` again")

    def _map(self, number: int) -> Shard:
        name = self._index["shards"][number]["name"]
        arrays = {kind: np.load(_array_path(self._folder, name, kind), mmap_mode="r") for kind in _KINDS}
        return Shard(**arrays)


class TokenStoreWriter:
    """Writes a token store document by document; a shard ends with the document that fills it.

    Ids and sentences go to disk as they come, so that memory holds a number a document of one shard.
    """

    def __init__(self, folder: Path, dtype: np.dtype[Any], *, tokens_per_shard: int = TOKENS_PER_SHARD) -> None:
        self._folder, self._dtype, self._tokens_per_shard = folder, dtype, tokens_per_shard
        self._entries: list[dict[str, object]] = []
        self._totals = {"tokens": 0, "sentences": 0, "documents": 0, "bytes": 0}
        self._shard: _OpenShard | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, ids: npt.NDArray[np.unsignedinteger[Any]], sentence_lengths: Offsets, num_bytes: int) -> None:
        """Add a document: its ids, the lengths of its sentences, which sum to the number of ids, and its bytes of text."""
        assert len(ids) == int(sentence_lengths.sum())
        if self._shard is None:
            self._shard = _OpenShard(self._folder, self._dtype)
        self._shard.add(ids, sentence_lengths, num_bytes)
        if self._shard.num_tokens >= self._tokens_per_shard:
            self._finish_shard()

    def close(self) -> None:
        """Write the last shard and the index."""
        if self._shard is not None:
            self._finish_shard()
        write_json(self._folder / INDEX, {"dtype": self._dtype.name, "shards": self._entries, **self._totals})

    def __enter__(self) -> "TokenStoreWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        elif self._shard is not None:
            self._shard.discard()

    def _finish_shard(self) -> None:
        assert self._shard is not None
        name, counts = self._shard.finish()
        self._entries.append({"name": name, **counts})
        self._totals = {key: total + counts[key] for key, total in self._totals.items()}
        self._shard = None


class _OpenShard:
    """A shard that is being written: ids and where sentences begin go to disk as they come."""

    def __init__(self, folder: Path, dtype: np.dtype[Any]) -> None:
        self._folder = folder
        self._ids = _OpenArray(folder / ".ids.tmp", dtype)
        self._sentences = _OpenArray(folder / ".sentences.tmp", np.dtype(np.int64))
        self._sentences.append(np.zeros(1, dtype=np.int64))
        self._digest = hashlib.sha256()
        self._sentences_of_document: list[int] = []
        self._num_bytes = 0

    @property
    def num_tokens(self) -> int:
        return self._ids.size

    def add(self, ids: npt.NDArray[np.unsignedinteger[Any]], sentence_lengths: Offsets, num_bytes: int) -> None:
        self._sentences.append(self.num_tokens + np.cumsum(sentence_lengths))
        self._digest.update(self._ids.append(ids))
        self._sentences_of_document.append(len(sentence_lengths))
        self._num_bytes += num_bytes

    def finish(self) -> tuple[str, dict[str, int]]:
        """Name the shard by its content, and say what it holds."""
        paths = {"ids": self._ids.close(), "sentences": self._sentences.close()}
        documents = _starts(self._sentences_of_document)
        for block in self._sentences.blocks():
            self._digest.update(block)
        name = _finish_name(self._digest, self._ids.dtype, self._sentences.size, documents)
        for kind, path in paths.items():
            path.rename(_array_path(self._folder, name, kind))
        np.save(_array_path(self._folder, name, "documents"), documents, allow_pickle=False)
        counts = {"tokens": self.num_tokens, "sentences": self._sentences.size - 1, "documents": len(documents) - 1}
        return name, counts | {"bytes": self._num_bytes}

    def discard(self) -> None:
        for array in (self._ids, self._sentences):
            array.close().unlink()


class _OpenArray:
    """A .npy file that grows."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self._path, self.dtype, self.size = path, dtype, 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: npt.NDArray[Any]) -> bytes:
        """Write values, and give them back as written."""
        data = values.astype(self.dtype, copy=False).tobytes()
        self._file.write(data)
        self.size += len(values)
        return data

    def close(self) -> Path:
        self._file.seek(0)
        self._write_header()
        self._file.close()
        return self._path

    def blocks(self) -> Iterator[bytes]:
        """What was written, after `close`; not through a memory map, which would count as memory."""
        with self._path.open("rb") as file:
            file.seek(_HEADER_BYTES)
            while block := file.read(_STEP):
                yield block

    def _write_header(self) -> None:
        """First without values and at the end with all: numpy pads both to the same size."""
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.size,)}
        np.lib.format.write_array_header_1_0(self._file, header)
        assert self._file.tell() == _HEADER_BYTES


_HEADER_BYTES: Final = 128
_KINDS: Final = ("ids", "sentences", "documents")


def _array_path(folder: Path, name: str, kind: str) -> Path:
    return folder / f"{name}.{kind}.npy"


def _name_of(shard: Shard) -> str:
    digest = hashlib.sha256()
    for array in (shard.ids, shard.sentences):
        for begin in range(0, len(array), _STEP):
            digest.update(array[begin : begin + _STEP].tobytes())
    return _finish_name(digest, shard.ids.dtype, len(shard.sentences), shard.documents)


def _finish_name(digest: "hashlib._Hash", dtype: np.dtype[Any], num_sentences: int, documents: Offsets) -> str:
    """The name of a shard whose ids and sentences `digest` has seen."""
    digest.update(documents.tobytes())
    digest.update(f"{dtype.name} {num_sentences} {len(documents)}".encode())
    return digest.hexdigest()[:32]


def _starts(lengths: Any) -> Offsets:
    """Where each of some lengths begins when they are laid end to end, and where the last ends."""
    values = lengths if isinstance(lengths, np.ndarray) else np.fromiter(lengths, dtype=np.int64)
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(values, dtype=np.int64)])


def _check_range(what: str, index: int, count: int) -> None:
    if not 0 <= index < count:
        raise IndexError(f"{what} {index} of {count}")
