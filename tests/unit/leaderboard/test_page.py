"""The leaderboard as a page, as markdown and in a terminal."""

import io
from html.parser import HTMLParser

import pytest
from rich.console import Console

from stemma.leaderboard.charts import line_chart
from stemma.leaderboard.compare import compare_rows
from stemma.leaderboard.console import comparison_table, console_tables
from stemma.leaderboard.elements import element
from stemma.leaderboard.markdown import markdown
from stemma.leaderboard.page import page
from tests import toy_board


class Reader(HTMLParser):
    """What a page is made of; every tag must be closed by its own."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def table():
    return toy_board.table()


@pytest.fixture(scope="module")
def reader(table) -> Reader:
    reader = Reader()
    reader.feed(page(table, toy_board.CURVES))
    reader.close()
    return reader


def test_every_tag_is_closed_and_nothing_comes_from_elsewhere(reader):
    assert reader.open == []
    names = {tag for tag, _ in reader.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    for tag, attributes in reader.tags:
        assert not {"src", "srcset", "onclick", "onload"} & attributes.keys(), tag
        assert attributes.get("href", "#").startswith("#")
    style = reader.text[reader.text.index("Leaderboard") + 1]
    assert "url(" not in style
    assert "@import" not in style


def test_text_is_text(reader):
    assert "<script>alert('no')</script> & so it goes" in reader.text
    assert element("p", "<b>", title='"<i>') == '<p title="&quot;&lt;i&gt;">&lt;b&gt;</p>'
    assert element("p", element("b", "1 < 2"), " & 3") == "<p><b>1 &lt; 2</b> &amp; 3</p>"


def test_links_lead_to_sections_that_are_there(reader):
    ids = {attributes["id"] for tag, attributes in reader.tags if tag == "section"}
    links = {(attributes["href"] or "").removeprefix("#") for tag, attributes in reader.tags if tag == "a"}
    assert links == ids == {"table", "published", "curves", "samples", "compared", "ablations", "missing"}


def test_the_heat_goes_from_the_lowest_to_the_best_of_a_column(reader):
    heats = [attributes["style"] for tag, attributes in reader.tags if tag == "td" and "style" in attributes]
    assert heats.count("--h:1.00") == 2  # bert on each task; a column of one figure has no scale
    assert heats.count("--h:0.40") == 2  # the bag of words, 0.2 of 0.5
    assert "--h:0.00" in heats


def test_marks_and_reasons_are_shown(reader):
    text = " ".join(reader.text)
    assert reader.text.count("degenerate") == 1
    assert "degenerate (1 of 2 seeds)" in reader.text
    assert "[0.300, 0.500] (85%)" in text
    assert " on word-order, cola: it has no encoder to fine-tune" in text
    assert "-0.500 [-0.530, -0.470]" in text
    assert "-0.565 on CoLA" in text
    assert reader.text.count("its dev file, 100 rows for training") == 2
    assert "test set, ours the file c" in reader.text
    assert reader.text.count("accuracy 0.500") == 2 * len(toy_board.SCORES)  # beside each of Matthews' correlations


def test_an_answer_stands_there_once_with_all_who_gave_it(table):
    answers = [
        {"system": "bert", "answer": "yes", "right": True},
        {"system": "gpt", "answer": "no", "right": False},
        {"system": "elmo", "answer": "yes", "right": True},
    ]
    numbers = [{"system": "bert", "answer": "2.50", "right": None}]
    sample = {"id": "1", "asked": [{"name": "text", "text": "so it goes"}], "wanted": "yes"}
    samples = {"cola": [{**sample, "answers": answers}], "sts-b": [{**sample, "answers": numbers}]}
    shown = page({**table, "samples": samples}, toy_board.CURVES)
    assert 'aria-label="right">✓</span> yes<small>bert, elmo</small></li>' in shown
    assert 'aria-label="wrong">✗</span> no<small>gpt</small></li>' in shown
    assert "<li>2.50<small>bert</small></li>" in shown


def test_a_part_without_content_is_left_out(table):
    nothing = {**table, "published": [], "ablations": [], "missing": [], "samples": {}, "comparisons": {}}
    shown = page(nothing, {"pretraining": [], "finetuning": []})
    assert [name for name in ("published", "curves", "samples", "ablations") if f'id="{name}"' in shown] == []
    assert "##" not in markdown(nothing)


def test_curves_are_thinned_and_keep_their_last_point():
    points = [(float(step), 1 / (step + 1)) for step in range(1000)]
    drawn = line_chart("bert", {"bert": points}, x="step", y="loss", order=["bert"])
    path = drawn.split('points="')[1].split('"')[0].split()
    assert len(path) <= 81
    assert path[0] == "44.0,10.0"
    assert path[-1] == "312.0,146.0"
    assert "bert ends at 0.001" in drawn


def test_one_point_and_a_level_line_can_be_drawn():
    single = line_chart("a", {"a": [(1.0, 2.0)]}, x="x", y="y", order=["a"])
    assert "<circle" in single
    level = line_chart("a", {"a": [(1.0, 0.0), (2.0, 0.0)], "b": [(1.0, 0.0)]}, x="x", y="y", order=["a", "b"])
    assert 'points="44.0,78.0 312.0,78.0"' in level
    assert level.count("<li>") == 2


def test_markdown_has_every_part(table):
    text = markdown(table)
    assert "| bert-untrained | 0.000 [-0.020, 0.020]<br><small>accuracy 0.500</small><br>2 seeds |" in text
    assert "*degenerate (1 of 2 seeds)*" in text
    assert (
        "| BERT BASE (test) | 0.521<br><small>test set, ours the file c</small> | – | Devlin et al. 2019, Table 1 |"
        in text
    )
    assert (
        text.count("<br><small>its dev file, 100 rows for training</small> |") == 2
    )  # below the heading, here and there
    assert "| cola | bert − bert-untrained | 1,043 | +0.500 [+0.470, +0.530] | 0.001 | < 0.001 | 0.040 |" in text
    assert "average 79.6 over GLUE without WNLI" in text
    assert "- transformer on word-order, cola: it has no encoder to fine-tune" in text


def show(*tables) -> str:
    console = Console(file=io.StringIO(), width=100)
    for one in tables:
        console.print(one)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_shows_as_many_columns_as_fit(table):
    made = {"bert": ["0123abcd", "12", "34"]}
    text = show(*console_tables(table, made, 100))
    assert text.count("Mean over seeds, and interval") == 3
    for part in ("degenerate", "accuracy 0.500", "rows for training", "0.521", "0123abcd", "GLUE's", "no vectors"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_terminal_shows_a_comparison(table):
    text = show(comparison_table(compare_rows(table, "bert", "majority")))
    assert "+0.500 [+0.470, +0.530]" in text
    assert "0.001, 0.020" in text  # McNemar's of both seeds
