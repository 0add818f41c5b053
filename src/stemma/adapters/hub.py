"""Data sets of the Hugging Face Hub, or a local folder laid out as one, streamed from their parquet files."""

from collections.abc import Callable, Iterator
from typing import Any

from stemma.errors import InputError

__all__ = ["read_records"]

Decoder = Callable[[Any], Any]


def read_records(dataset: str, config: str | None, split: str, revision: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a split, each with where it stands; labels that are numbers with names are given by name."""
    import datasets

    where = f"{dataset}@{revision} {split}"
    try:
        builder = datasets.load_dataset_builder(dataset, config, revision=revision)
        if not any(kind.__name__ == "Parquet" for kind in type(builder).__mro__):
            raise InputError(f"{where}: not in parquet; use one of its parquet conversions, or a copy of its files")
        rows = builder.as_streaming_dataset(split=split)
        decoders = {name: decoder for name, kind in (rows.features or {}).items() if (decoder := _decoder(kind))}
        for position, row in enumerate(rows):
            decoded = {name: decoder(row[name]) for name, decoder in decoders.items()}
            yield f"{where}: row {position}", {**row, **decoded}
    except (OSError, RuntimeError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise InputError(f"{where}: can't be loaded: {' '.join(str(error).split())}") from None


def _decoder(kind: Any) -> Decoder | None:
    """What turns the numbers of a column of labels, or of lists of labels, into their names."""
    names = getattr(kind, "names", None) or getattr(getattr(kind, "feature", None), "names", None)
    if names is None:
        return None

    def decode(value: Any) -> Any:
        if isinstance(value, list):
            return [decode(one) for one in value]
        return names[value] if isinstance(value, int) and 0 <= value < len(names) else value

    return decode
