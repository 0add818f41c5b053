"""MRPC as it was published has no dev set: GLUE's is a list of pairs of ids, `dev_ids.tsv`, out of the training file.

A split that names the list beside `msr_paraphrase_train.txt` gets the pairs on it if it is validation, else the others.
"""

from collections.abc import Iterable
from dataclasses import replace

from stemma.data.compression import plain_name
from stemma.data.input_files import InputFile
from stemma.data.lines import read_lines
from stemma.errors import InputError
from stemma.tasks.layout import Layout

__all__ = ["divide", "is_list_of_ids", "read_ids"]


def is_list_of_ids(format_name: str, file_name: str) -> bool:
    """Whether a file is no file of rows, but the list."""
    return format_name == "mrpc" and plain_name(file_name).split("/")[-1] == "dev_ids.tsv"


def read_ids(files: Iterable[InputFile]) -> frozenset[str]:
    """The pairs on the list, each as the id that `divide` gives its row."""
    pairs = set()
    for file in files:
        for number, line in read_lines(file.path, file.name):
            fields = line.split("\t")
            if len(fields) != 2:
                raise InputError(f"{file.name}:{number}: {len(fields)} columns, expected the ids of two sentences")
            pairs.add("-".join(fields))
    return frozenset(pairs)


def divide(layout: Layout) -> Layout:
    """The layout with which rows have their sentences' ids for an id."""
    return replace(layout, columns={**layout.columns, "id": ["#1 ID", "#2 ID"]})
