from pathlib import Path

import pytest

from stemma.config import FilesSource
from stemma.data.source_files import describe_file, find_source_files
from stemma.errors import InputError, SettingsError
from stemma.files import digest_file, digest_tree


def find(paths: list[str], external: Path, **sha256: str) -> list[str]:
    source = FilesSource(kind="files", paths=paths, format="text", licence="CC0", sha256=sha256)
    return [file.name for file in find_source_files(source, external)]


@pytest.fixture
def external(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("data/external/a.txt", "data/external/books/b.md", "data/external/books/deep/c.md", "else/x.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    return Path("data/external")


def test_files_folders_and_patterns(external: Path) -> None:
    assert find(["data/external/a.txt"], external) == ["data/external/a.txt"]
    assert find(["data/external/books"], external) == ["data/external/books/b.md", "data/external/books/deep/c.md"]
    assert find(["data/external/**/*.md"], external) == ["data/external/books/b.md", "data/external/books/deep/c.md"]
    assert find(["data/external/*"], external) == ["data/external/a.txt"]


def test_what_lies_outside_needs_its_sha256(external: Path) -> None:
    digest = digest_file(Path("else/x.txt"))
    with pytest.raises(InputError, match=rf"else/x.txt: lies outside data/external; state its sha256 \({digest}\)"):
        find(["else/x.txt"], external)
    assert find(["else/x.txt"], external, **{"else/x.txt": digest}) == ["else/x.txt"]
    tree = digest_tree([Path("else")])
    with pytest.raises(InputError, match=rf"else: lies outside data/external; state its sha256 \({tree}\)"):
        find(["else"], external)
    assert find(["else"], external, **{"else": tree}) == ["else/x.txt"]


def test_another_sha256_names_both(external: Path) -> None:
    wrong = "0" * 64
    for entry in ("data/external/a.txt", "data/external/books"):
        with pytest.raises(InputError, match=rf"{entry}: its sha256 is [1-9a-f]\w+, expected {wrong}"):
            find([entry], external, **{entry: wrong})


def test_a_folders_sha256_knows_names_and_contents(external: Path) -> None:
    before = digest_tree([Path("else")])
    Path("else/x.txt").rename("else/y.txt")
    with pytest.raises(InputError, match="expected"):
        find(["else"], external, **{"else": before})


def test_missing_and_empty_files_are_named(external: Path) -> None:
    for entry in ("data/external/none.txt", "data/external/*.none", "data/none/*"):
        with pytest.raises(InputError, match=r"none.*: no (such file|files there)"):
            find([entry], external)
    Path("data/external/books/empty.md").touch()
    with pytest.raises(InputError, match=r"data/external/books/empty.md: the file is empty"):
        find(["data/external/books"], external)


def test_names_do_not_say_where_a_folder_lies(external: Path) -> None:
    assert find([str(external.resolve() / "books")], external) == ["books/b.md", "books/deep/c.md"]
    with pytest.raises(SettingsError, match=r"two files are named a.txt"):
        find([str(external.resolve() / "a.txt")] * 2, external)


def test_the_data_folder_variable(external: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMMA_DATA", str(external.resolve()))
    assert find(["$STEMMA_DATA/books/*.md"], external) == ["$STEMMA_DATA/books/b.md"]
    source = FilesSource(kind="files", paths=["$STEMMA_DATA/a.txt"], format="text", licence="CC0")
    described = describe_file(find_source_files(source, external)[0])
    assert described == {
        "name": "$STEMMA_DATA/a.txt",
        "sha256": digest_file(external / "a.txt"),
        "bytes": 27,
    }
