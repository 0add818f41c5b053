from pathlib import Path

import numpy as np
import pytest

from stemma.data import spool
from stemma.data.spool import RowFile, TextSpool


def test_texts_come_back_by_position(tmp_path: Path) -> None:
    with TextSpool(tmp_path / "texts") as texts:
        places = [(texts.append(data), data) for data in (b"one", b"", "zwölf".encode())]
        assert [texts.read(begin, len(data)) for begin, data in reversed(places)] == [d for _, d in reversed(places)]
        begin = texts.append(b"after reading")
        assert texts.read(begin, 5) == b"after"


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
