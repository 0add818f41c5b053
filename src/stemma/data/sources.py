"""Documents of local files, streamed.

text        one document a file; its key is the file's name
blocks      documents with blank lines between them, as BERT's own scripts read them; the key is the first line's number
jsonl       one document a line, in a column of its object
parquet     one document a row, in a column
mediawiki   one document an article of an XML dump, as prose

Each may be compressed (.gz, .bz2, .xz, .zst). A file that can't be read as what it should be is an error that names it and the
line. A document that is merely bad (empty, too short, a repeat) passes: it is for validation to refuse it, with the reason.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from stemma.config import FilesSource
from stemma.data.compression import is_compressed, open_binary, plain_name
from stemma.data.documents import Document
from stemma.data.input_files import InputFile
from stemma.data.lines import check_text, read_json_lines, read_lines
from stemma.data.mediawiki import read_pages
from stemma.data.source_files import PairedFiles
from stemma.data.workspace import open_workspace
from stemma.errors import InputError

__all__ = ["read_file", "read_mediawiki", "read_paired_files", "record_document"]

Converter = Callable[[str], str]
MAX_DOCUMENT_CHARACTERS: Final = 64 << 20
_ROWS_PER_BATCH: Final = 64
_LINES_AT_ONCE: Final = 1000


def read_file(file: InputFile, source: FilesSource, to_prose: Converter) -> Iterator[Document]:
    """The documents of one file; `to_prose` turns MediaWiki markup into text."""
    match source.format:
        case "text":
            return _read_text(file)
        case "blocks":
            return _read_blocks(file)
        case "jsonl":
            return _read_jsonl(file, source)
        case "parquet":
            return _read_parquet(file, source)
        case "mediawiki":
            return read_mediawiki(file.path, file.name, to_prose)


def read_mediawiki(path: Path, name: str, to_prose: Converter) -> Iterator[Document]:
    """The articles of a dump as prose; redirects and pages that are no articles are not documents."""
    with open_binary(path, name) as file:
        for page in read_pages(file, name):
            if page.namespace == "0" and not page.is_redirect:
                yield Document(key=page.id, title=page.title, text=to_prose(page.text))


def read_paired_files(files: PairedFiles) -> Iterator[Document]:
    """A document for every line of two aligned files: the source, and its translation in the next line."""
    counts = [0, 0]
    for pair in zip_longest(*(read_lines(file.path, file.name) for file in (files.source, files.target))):
        counts = [count + (line is not None) for count, line in zip(counts, pair, strict=True)]
        if counts[0] == counts[1]:
            (number, source), (_, target) = pair
            yield Document(f"{files.source.name}:{number}", "", f"{source}\n{target}", files.split)
    if counts[0] != counts[1]:
        raise InputError(
            f"{files.source.name} has {counts[0]:,} lines and {files.target.name} has {counts[1]:,}; aligned files have as many"
        )


def record_document(
    record: Mapping[str, Any], where: str, position: str, *, text_column: str, id_column: str | None
) -> Document:
    """A document from a record with named values; without a column of ids its position is its key."""
    for column in (text_column, id_column):
        if column is not None and column not in record:
            raise InputError(f"{where}: no column {column!r}; there are {', '.join(map(repr, sorted(record)))}")
    key = position if id_column is None else record[id_column]
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise InputError(f"{where}: {id_column!r} must be text or a whole number, found {type(key).__name__}")
    title = record.get("title")
    return Document(
        key=check_text(str(key), where),
        title=check_text(title, where) if isinstance(title, str) else "",
        text=check_text(record[text_column], f"{where}: {text_column!r}"),
    )


def _read_text(file: InputFile) -> Iterator[Document]:
    lines = (line for _, line in read_lines(file.path, file.name))
    yield Document(key=file.name, title=Path(plain_name(file.name)).stem, text=_join(file, lines))


def _read_blocks(file: InputFile) -> Iterator[Document]:
    lines: list[str] = []
    first = 0
    for number, line in read_lines(file.path, file.name):
        if line.strip():
            first = first if lines else number
            lines.append(line)
        elif lines:
            yield Document(key=f"{file.name}:{first}", title="", text=_join(file, iter(lines)))
            lines = []
    if lines:
        yield Document(key=f"{file.name}:{first}", title="", text=_join(file, iter(lines)))


def _join(file: InputFile, lines: Iterator[str]) -> str:
    pieces, size = [], 0
    while some := list(islice(lines, _LINES_AT_ONCE)):  # or a long text's lines would take several times its memory
        pieces.append("\n".join(some))
        size += len(pieces[-1]) + 1
        if size > MAX_DOCUMENT_CHARACTERS:
            raise InputError(
                f"{file.name}: a document longer than {MAX_DOCUMENT_CHARACTERS:,} characters; split the file, or use"
                " format 'blocks' or 'jsonl'"
            )
    return "\n".join(pieces)


def _read_jsonl(file: InputFile, source: FilesSource) -> Iterator[Document]:
    for number, record in read_json_lines(file.path, file.name):
        where = f"{file.name}:{number}"
        yield record_document(record, where, where, text_column=source.text_column, id_column=source.id_column)


def _read_parquet(file: InputFile, source: FilesSource) -> Iterator[Document]:
    if not is_compressed(file.path):
        yield from _parquet_documents(file.path, file.name, source)
        return
    with open_workspace("ingest") as workspace:  # parquet is read from its end
        plain = workspace.folder / "plain.parquet"
        with open_binary(file.path, file.name) as packed, plain.open("wb") as target:
            shutil.copyfileobj(packed, target)
        yield from _parquet_documents(plain, file.name, source)


def _parquet_documents(path: Path, name: str, source: FilesSource) -> Iterator[Document]:
    row = 0
    try:
        with pq.ParquetFile(path, memory_map=False, pre_buffer=False) as file:
            columns = _columns(file.schema_arrow, name, source)
            for batch in file.iter_batches(_ROWS_PER_BATCH, columns=columns, use_threads=False):
                for record in batch.to_pylist():
                    where = f"{name}: row {row}"
                    row += 1
                    yield record_document(
                        record, where, f"{name}:{row}", text_column=source.text_column, id_column=source.id_column
                    )
    except UnicodeDecodeError:
        raise InputError(f"{name}: row {row}: not valid UTF-8") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{name}: can't be read as parquet: {' '.join(str(error).split())}") from None


def _columns(schema: pa.Schema, name: str, source: FilesSource) -> list[str]:
    """The columns to read, checked before the first row is."""
    kinds = {field.name: field.type for field in schema}
    for column in (source.text_column, source.id_column):
        if column is not None and column not in kinds:
            raise InputError(f"{name}: no column {column!r}; there are {', '.join(map(repr, sorted(kinds)))}")
    kind = kinds[source.text_column]
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(f"{name}: column {source.text_column!r} must be text, found {kind}")
    wanted = {source.text_column, source.id_column, "title"}
    return [column for column in kinds if column in wanted]
