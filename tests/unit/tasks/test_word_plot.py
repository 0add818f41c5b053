"""Words as points of a plane."""

import logging
from pathlib import Path

import numpy as np
import pytest
from matplotlib import font_manager, get_data_path
from sklearn.decomposition import PCA

from stemma.errors import InputError
from stemma.tasks import word_plot
from stemma.tasks.word_plot import plot_words, principal_components
from stemma.text.vectors import WordVectors

WORDS = ["paris", "france", "北京", "中国", "$x$", "<a&b>"]
VECTORS = WordVectors(WORDS, np.random.default_rng(1).normal(size=(6, 10)).astype(np.float32))


def test_components_are_scikit_learns_up_to_sign() -> None:
    points, shares = principal_components(VECTORS.matrix)
    reference = PCA(2).fit(VECTORS.matrix)
    assert np.allclose(np.abs(points), np.abs(reference.transform(VECTORS.matrix)), atol=1e-5)
    assert np.allclose(shares, reference.explained_variance_ratio_)


def test_the_sign_does_not_depend_on_the_order_of_rows() -> None:
    points, _ = principal_components(VECTORS.matrix)
    assert np.allclose(principal_components(VECTORS.matrix[::-1])[0][::-1], points)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_twice_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    for name in ("one", "two"):
        plot_words(VECTORS, WORDS, tmp_path / f"{name}.{suffix}")
    written = (tmp_path / f"one.{suffix}").read_bytes()
    assert written == (tmp_path / f"two.{suffix}").read_bytes()
    assert b"<dc:date>" not in written


def test_an_svg_keeps_words_as_text_whatever_they_hold(tmp_path: Path) -> None:
    plot_words(VECTORS, WORDS, tmp_path / "words.svg")
    text = (tmp_path / "words.svg").read_text()
    for word in ("北京", "中国", "$x$", "&lt;a&amp;b&gt;"):
        assert f">{word}</text>" in text


def test_a_png_without_a_font_is_drawn_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own = [entry for entry in font_manager.fontManager.ttflist if Path(entry.fname).is_relative_to(get_data_path())]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    with caplog.at_level(logging.WARNING):
        plot_words(VECTORS, ["北京", "paris", "france"], tmp_path / "words.png")
    assert "words.png: no installed font has 京北: boxes stand for them" in caplog.text
    assert (tmp_path / "words.png").stat().st_size > 1000


def test_an_installed_font_that_has_the_characters_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    has = {"fonts/Latin.ttf": set(range(128)), "fonts/Han.ttf": {*range(128), ord("北"), ord("京")}}
    entries = [font_manager.FontEntry(fname=file, name=Path(file).stem) for file in has]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", entries)
    monkeypatch.setattr(word_plot, "findfont", lambda _: "fonts/Latin.ttf")
    monkeypatch.setattr(word_plot, "_characters", lambda file: has[file])
    assert word_plot._fonts("北京 paris", Path("words.png")) == ["DejaVu Sans", "Han"]


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("words.pdf", WORDS, r"words\.pdf: a plot's name ends in \.svg or \.png"),
        ("words.svg", WORDS[:2], "2 words make no plane; name three or more"),
        ("words.svg", [*WORDS, "pariss"], "no vector for 'pariss'.* near it: paris"),
    ],
)
def test_what_can_not_be_drawn_is_said(tmp_path: Path, name: str, words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plot_words(VECTORS, words, tmp_path / name)
