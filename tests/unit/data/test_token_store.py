from pathlib import Path

import numpy as np
import pytest

from stemma.data.token_store import TokenStore, TokenStoreWriter, id_dtype
from stemma.errors import CorruptionError, InputError
from stemma.files import digest_tree

DOCUMENTS = [[[7, 8, 9], [5]], [[6, 6]], [[1], [], [2, 3]]]  # documents of sentences of ids


def write(folder: Path, documents: list[list[list[int]]] = DOCUMENTS, tokens_per_shard: int = 1 << 20) -> TokenStore:
    with TokenStoreWriter(folder, id_dtype(100), tokens_per_shard=tokens_per_shard) as writer:
        for sentences in documents:
            ids = np.array([token for sentence in sentences for token in sentence], dtype=np.uint32)
            writer.add(ids, np.array([len(sentence) for sentence in sentences], dtype=np.int64), num_bytes=10)
    return TokenStore.open(folder)


def contents(store: TokenStore) -> list[list[list[int]]]:
    return [[store.sentence(n).tolist() for n in store.document(d)] for d in range(store.num_documents)]


@pytest.mark.parametrize("tokens_per_shard", [1, 3, 5, 1000])
def test_what_is_written_is_read_back_whatever_the_shards(tmp_path: Path, tokens_per_shard: int) -> None:
    store = write(tmp_path, tokens_per_shard=tokens_per_shard)
    assert contents(store) == DOCUMENTS
    assert (store.num_tokens, store.num_sentences, store.num_documents, store.num_bytes) == (9, 6, 3, 30)
    assert store.sentence_lengths().tolist() == [3, 1, 2, 1, 0, 2]
    assert [store.document_of(n) for n in range(6)] == [0, 0, 1, 2, 2, 2]


def test_a_shard_ends_with_the_document_that_fills_it(tmp_path: Path) -> None:
    shards = list(write(tmp_path, tokens_per_shard=3).shards())
    assert [shard.ids.tolist() for shard in shards] == [[7, 8, 9, 5], [6, 6, 1, 2, 3]]
    assert [shard.documents.tolist() for shard in shards] == [[0, 2], [0, 1, 4]]


def test_ids_are_slices_of_a_memory_map(tmp_path: Path) -> None:
    sentence = write(tmp_path).sentence(0)
    assert isinstance(sentence, np.memmap)
    assert sentence.dtype == np.uint16


def test_the_type_follows_the_vocabulary() -> None:
    assert id_dtype(1 << 16) == np.uint16
    assert id_dtype((1 << 16) + 1) == np.uint32


def test_equal_content_gives_equal_files(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b")
    assert digest_tree([tmp_path / "a"]) == digest_tree([tmp_path / "b"])


def test_names_tell_sentence_bounds_apart(tmp_path: Path) -> None:
    write(tmp_path / "a", [[[1, 2], [3]]])
    write(tmp_path / "b", [[[1], [2, 3]]])
    assert {path.name for path in (tmp_path / "a").glob("*.npy")}.isdisjoint(
        path.name for path in (tmp_path / "b").glob("*.npy")
    )


def test_an_empty_store_opens(tmp_path: Path) -> None:
    store = write(tmp_path, [])
    assert (store.num_tokens, store.num_documents, list(store.shards())) == (0, 0, [])
    assert store.sentence_lengths().tolist() == []


def test_a_flipped_byte_is_found(tmp_path: Path) -> None:
    write(tmp_path)
    path = next(tmp_path.glob("*.ids.npy"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptionError, match="does not match its name"):
        TokenStore.open(tmp_path).verify()
    write(tmp_path / "b").verify()


def test_a_missing_shard_or_index_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    next(tmp_path.glob("*.documents.npy")).unlink()
    with pytest.raises(CorruptionError, match=r"documents.npy: named in index.json but missing"):
        TokenStore.open(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        TokenStore.open(tmp_path / "nowhere")


def test_indices_out_of_range_are_errors(tmp_path: Path) -> None:
    store = write(tmp_path)
    for reach in (store.sentence, store.document, store.document_of):
        for index in (-1, 6):
            with pytest.raises(IndexError):
                reach(index)


def test_ids_load_as_a_plain_numpy_file(tmp_path: Path) -> None:
    write(tmp_path)
    assert np.load(next(tmp_path.glob("*.ids.npy"))).tolist() == [7, 8, 9, 5, 6, 6, 1, 2, 3]


def test_a_writer_that_fails_leaves_no_shard(tmp_path: Path) -> None:
    def fail() -> None:
        with TokenStoreWriter(tmp_path, id_dtype(100)) as writer:
            writer.add(np.array([1], dtype=np.uint32), np.array([1], dtype=np.int64), num_bytes=1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []
