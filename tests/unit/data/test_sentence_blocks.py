"""Blocks of whole sentences, of about the size that was asked for."""

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stemma.data.sentence_blocks import cut, read_blocks
from stemma.data.token_store import TokenStore
from stemma.progress import NullProgress
from tests.toy_bert import write_store
from tests.toy_ngrams import block


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), max_size=30), st.integers(1, 9))
def test_cutting_keeps_every_sentence_whole(lengths, max_tokens):
    ids, offsets = block([[7 + number % 3] * length for number, length in enumerate(lengths)])
    pieces = list(cut([(ids, offsets)], max_tokens))
    assert np.concatenate([ids[:0], *(piece for piece, _ in pieces)]).tolist() == ids.tolist()
    assert [length for _, ends in pieces for length in np.diff(ends)] == lengths
    assert all(len(piece) <= max_tokens or len(ends) == 2 for piece, ends in pieces)


def test_blocks_are_the_shards_and_progress_hears_of_each(tmp_path):
    class Heard(NullProgress):
        def __init__(self) -> None:
            self.calls: list[object] = []

        def start(self, *about: object) -> None:
            self.calls.append(about)

        def update(self, done: int, *_: object) -> None:
            self.calls.append(done)

    heard = Heard()
    store = TokenStore.open(write_store(tmp_path, [[[7, 8], [9]], [[8, 8, 8]]], tokens_per_shard=3))
    blocks = [(ids.tolist(), offsets.tolist()) for ids, offsets in read_blocks(store, "counting", heard)]
    assert blocks == [([7, 8, 9], [0, 2, 3]), ([8, 8, 8], [0, 3])]
    assert heard.calls == [("counting", 6, "tokens"), 3, 6]


def test_cutting_a_mapped_block_gives_its_pages_back(tmp_path: Path) -> None:
    """What a process has mapped of a file counts as its memory."""
    path, length = tmp_path / "ids.npy", 1 << 24
    np.save(path, np.full(length, 7, np.uint16))
    ids = np.load(path, mmap_mode="r")
    for piece, _ in cut([(ids, np.arange(0, length + 1, 16))], length // 16):
        assert (piece == 7).all()
        assert 0 < _resident_kilobytes(path) < length * 2 / 2 / 1024
    assert _resident_kilobytes(path) == 0


def _resident_kilobytes(path: Path) -> int:
    maps = Path("/proc/self/smaps").read_text().split(str(path))[1]
    return int(maps.split("Rss:")[1].split()[0])
