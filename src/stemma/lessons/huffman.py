"""Huffman codes of six words: what hierarchical softmax chooses between, and why frequent words cost little."""

from collections.abc import Iterator
from typing import Final

from stemma.layers.huffman import HuffmanTree

__all__ = ["COUNTS", "codes", "explain"]

COUNTS: Final = {"A": 8, "B": 6, "C": 5, "D": 3, "E": 1, "F": 15}


def codes(counts: dict[str, int]) -> dict[str, str]:
    """The code of each word, 0 for the heavier child, on the left."""
    tree = HuffmanTree.of(list(counts.values()))
    return {word: tree.code(number, heavier=0) for number, word in enumerate(counts)}


def explain() -> Iterator[str]:
    """Join the two lightest nodes until one is left, then read the codes from the root."""
    tree = HuffmanTree.of(list(COUNTS.values()))
    yield f"Words and their counts: {', '.join(f'{word} {count}' for word, count in COUNTS.items())}."
    yield "Join the two lightest nodes, again and again; the heavier goes to the left (0):"
    names, weights = list(COUNTS), list(COUNTS.values())
    for number in range(len(COUNTS), tree.root + 1):
        children = [node for node in range(number) if tree.parents[node] == number]
        left, right = sorted(children, key=lambda node: not tree.is_heavier[node])
        names.append(f"({names[left]} {names[right]})")
        weights.append(weights[left] + weights[right])
        yield f"  {names[left]} {weights[left]} + {names[right]} {weights[right]} = {weights[-1]}"
    yield "From the root down, the codes:"
    found = codes(COUNTS)
    yield from (f"  {word} = {code}" for word, code in found.items())
    total = sum(COUNTS.values())
    mean = sum(COUNTS[word] * len(code) for word, code in found.items()) / total
    yield (
        f"Hierarchical softmax makes one choice a digit: {mean:.2f} on average over {total} words,"
        f" where a softmax scores all {len(COUNTS)}."
    )
