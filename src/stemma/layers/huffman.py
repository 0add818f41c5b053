"""Huffman's tree (1952) over words: the more frequent a word, the shorter its way from the root.

Hierarchical softmax predicts a word by a choice at every inner node of that way. The tree, ties included, is the one that
gensim trains with, which lets the heavier child be 1; textbooks often let it be 0, so a code is asked for with either.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["HuffmanTree"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HuffmanTree:
    """A tree with the words 0 … V-1 as leaves and the inner nodes V … 2V-2, the root last."""

    parents: Ints  # (2V-1,); the root is its own parent
    is_heavier: npt.NDArray[np.bool_]  # (2V-1,): whether a node is the heavier child of its parent

    @classmethod
    def of(cls, counts: Sequence[int]) -> "HuffmanTree":
        """Join the two lightest nodes until one is left."""
        num_words, root = len(counts), 2 * len(counts) - 2
        parents, is_heavier = np.full(root + 1, root), np.zeros(root + 1, np.bool_)
        heap = [_Node(count, word) for word, count in enumerate(counts)]
        heapq.heapify(heap)
        for number in range(num_words, root + 1):
            lighter, heavier = heapq.heappop(heap), heapq.heappop(heap)
            parents[[lighter.number, heavier.number]] = number
            is_heavier[heavier.number] = True
            heapq.heappush(heap, _Node(lighter.count + heavier.count, number))
        return cls(parents, is_heavier)

    @property
    def num_words(self) -> int:
        """How many leaves it has."""
        return (len(self.parents) + 1) // 2

    @property
    def root(self) -> int:
        """The node above all others."""
        return len(self.parents) - 1

    def way(self, word: int) -> list[int]:
        """The nodes from below the root down to a word."""
        nodes = []
        node = word
        while node != self.root:
            nodes.append(node)
            node = int(self.parents[node])
        return nodes[::-1]

    def code(self, word: int, *, heavier: int) -> str:
        """A word's code: `heavier` (0 or 1) wherever its way takes the heavier child."""
        return "".join(str(heavier if self.is_heavier[node] else 1 - heavier) for node in self.way(word))


class _Node:
    """A node on the heap; nodes of equal count are equal to it, as they are to gensim."""

    __slots__ = ("count", "number")

    def __init__(self, count: int, number: int) -> None:
        self.count, self.number = count, number

    def __lt__(self, other: "_Node") -> bool:
        return self.count < other.count
