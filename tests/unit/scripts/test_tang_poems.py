"""Tang poems: which of the archive's files and poems are read, and what is written of them."""

import io
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from scripts import tang_poems as script

QUIET_NIGHT = ["床前明月光，疑是地上霜。", "舉頭望明月，低頭思故鄉。"]
STORK_TOWER = ["白日依山盡，黃河入海流。", "欲窮千里目，更上一層樓。"]


def write_archive(path: Path, files: dict[str, list[list[str]]]) -> Path:
    with tarfile.open(path, "w:xz") as tar:
        for name, poems in files.items():
            records: list[dict[str, Any]] = [{"author": "佚名", "title": "", "paragraphs": poem} for poem in poems]
            content = json.dumps(records).encode()
            entry = tarfile.TarInfo(f"chinese-poetry/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    files = {
        "全唐诗/poet.tang.1000.json": [STORK_TOWER, QUIET_NIGHT],
        "全唐诗/poet.tang.0.json": [QUIET_NIGHT, [], ["  ", " 紅豆生南國，春來發幾枝。 "]],
        "全唐诗/poet.song.0.json": [["明月幾時有？把酒問青天。"]],
        "全唐诗/authors.tang.json": [["no poem"]],
    }
    return write_archive(tmp_path / "poems.tar.xz", files)


def test_poems_of_tang_by_the_names_of_their_files(archive: Path) -> None:
    assert list(script.read_poems(archive)) == [
        "床前明月光，疑是地上霜。\n舉頭望明月，低頭思故鄉。\n",
        "紅豆生南國，春來發幾枝。\n",
        "白日依山盡，黃河入海流。\n欲窮千里目，更上一層樓。\n",
        "床前明月光，疑是地上霜。\n舉頭望明月，低頭思故鄉。\n",
    ]


def test_each_is_written_once_and_the_same_each_time(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    for name in ("one", "two"):
        out = archive.parent / name
        monkeypatch.setattr(sys, "argv", ["tang_poems.py", str(archive), str(out)])
        script.main()
        written.append({split: (out / f"{split}.txt").read_text() for split in ("train", "validation", "test")})
    assert written[0] == written[1]
    poems = [poem for text in written[0].values() for poem in text.split("\n\n") if poem]
    assert sorted(poem.strip() for poem in poems) == sorted({poem.strip() for poem in script.read_poems(archive)})
