"""The Stanford Sentiment Treebank's trees: one in brackets a line, each node with its sentiment from 0 to 4.

A sentence's label is that of the root, its text are the leaves. Brackets and slashes are spelled as the Penn Treebank does,
which is undone here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from stemma.data.lines import read_lines
from stemma.errors import InputError
from stemma.tasks.layout import Layout

__all__ = ["read_trees"]

_LEAF: Final = re.compile(r"\([0-4] ([^ ()]+)\)")  # a no-break space may stand in a word
_NODE: Final = re.compile(r"\([0-4](?: ?\*)+\)")  # of leaves and nodes that became `*`
_SPELLED: Final = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def read_trees(path: Path, name: str, layout: Layout) -> Iterator[dict[str, Any]]:
    """The sentences of a file, in its order."""
    for number, line in read_lines(path, name):
        if line.strip():
            where = f"{name}:{number}"
            label, words = _parse(line, where)
            row = {"where": where, "text": " ".join(words)}
            yield {**row, "label": layout.label_names.get(label, label)} if layout.answers else row


def _parse(line: str, where: str) -> tuple[str, list[str]]:
    """The root's label and the leaves; every node is a label and a word, or a label and nodes."""
    tree = line.strip()
    before, left = "", _LEAF.sub("*", tree)
    while left != before:
        before, left = left, _NODE.sub("*", left)
    if left != "*":
        raise InputError(f"{where}: not one tree of labels from 0 to 4 and words; what is no node begins {left[:40]!r}")
    words = [_SPELLED.get(word, word).replace("\\/", "/").replace("\\*", "*") for word in _LEAF.findall(tree)]
    return tree[1], words
