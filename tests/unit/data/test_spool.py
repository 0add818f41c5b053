from functools import partial
from pathlib import Path

import numpy as np
import pytest

from stemma.data import spool
from stemma.data.spool import RowFile, TextSpool
from stemma.data.workers import Batch, open_workers


def test_texts_come_back_by_place(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    with TextSpool(folder) as texts:
        places = [(TextSpool.append(folder, [data]), data) for data in (b"one", b"", "zwölf".encode())]
        assert [texts.read(*place, len(data)) for place, data in reversed(places)] == [d for _, d in reversed(places)]
        place = TextSpool.append(folder, [b"after", b" reading"])
        assert texts.read(*place, 8) == b"after re"


def test_every_process_may_append(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    with TextSpool(folder) as texts, open_workers(2) as workers:
        batches = [Batch([str(number).encode()], 1) for number in range(20)]
        places = list(workers.map(partial(TextSpool.append, folder), batches))
        assert [texts.read(*place, len(batch.items[0])) for place, batch in zip(places, batches, strict=True)] == [
            batch.items[0] for batch in batches
        ]


def test_rows_come_back_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_JOINED", 64)
    with RowFile(tmp_path / "rows", np.int64) as rows:
        rows.append(np.arange(0, 500))
        rows.append(np.arange(500, 1000))
        numbers = np.array([999, 3, 3, 0, 4, 500, 998])
        assert rows.num_rows == 1000
        assert rows.gather(numbers).tolist() == numbers.tolist()
        assert rows.read(498, 4).tolist() == [498, 499, 500, 501]
        assert rows.gather(np.zeros(0, dtype=np.int64)).tolist() == []
