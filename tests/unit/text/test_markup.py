import time

import pytest

from stemma.text.markup import strip_wikitext


@pytest.mark.parametrize(
    ("source", "prose"),
    [
        pytest.param("'''Albedo''' is ''white''.", "Albedo is white.", id="bold and italics"),
        pytest.param("The [[planet]]s and [[Terra (satellite)|Terra]].", "The planets and Terra.", id="links"),
        pytest.param("[[Terra (satellite)|]] and [[:Category:Birds]].", "Terra and Category:Birds.", id="pipe trick"),
        pytest.param("Text.[[Category:A| ]][[de:Text]][[zh-min-nan:Text]]", "Text.", id="categories, other languages"),
        pytest.param("[[File:a.png|thumb|A [[cat]] {{x}} on a mat]]Text.", "Text.", id="picture with a link in it"),
        pytest.param("A [http://x.org/ label] and [http://x.org].", "A label and.", id="external links"),
        pytest.param(
            'One.<ref name="a">See [[x]].</ref> Two.<ref name="a" /> Three.', "One. Two. Three.", id="references"
        ),
        pytest.param("One<!-- no\n\n --> two<!-- open", "One two", id="comments"),
        pytest.param("15&nbsp;°C &mdash; &lt;b&gt; &amp;amp;", "15 °C — <b> &amp;", id="entities once"),
        pytest.param("{{Infobox|a={{b|c}}\n|d=[[e]]}}Text.", "Text.", id="nested templates"),
        pytest.param("It is {{convert|3|to|5|km|mi|abbr=on}} long.", "It is 3 to 5 km long.", id="converted units"),
        pytest.param("Greek {{lang|el|ἀρχή}}, {{nowrap|a b}}.", "Greek ἀρχή, a b.", id="templates for words"),
        pytest.param("'''Aa''' ({{IPAc-en|a}}; {{x}}) is it.", "Aa is it.", id="no empty brackets"),
        pytest.param("Angle, <math>x</math>, and more.", "Angle, and more.", id="no hole for a formula"),
        pytest.param("A\n{| class=x\n! h\n|-\n| {{a}} || b\n{|\n| c\n|}\n|}\nB", "A\n\nB", id="nested tables"),
        pytest.param("One\ntwo.\n\nThree.", "One two.\n\nThree.", id="lines of a paragraph"),
        pytest.param("A.\n== Head ==\nB.\n=== Sub ===\nC.", "A.\n\nB.\n\nC.", id="headings"),
        pytest.param("A.\n==See also==\nb\n===More===\nc\n== D ==\nE.", "A.\n\nE.", id="end matter"),
        pytest.param("* word\n# two words", "", id="lists of names"),
        pytest.param(
            "Text:\n* This list item is a whole sentence, as one sees.",
            "Text:\n\nThis list item is a whole sentence, as one sees.",
            id="list items that are sentences",
        ),
        pytest.param("<nowiki>[[a]] ''b''</nowiki> c", "[[a]] ''b'' c", id="nowiki"),
        pytest.param("A<br />B <small>c</small>__NOTOC__", "A B c", id="tags and magic words"),
        pytest.param("Open {{ brace and [[ link.", "Open brace and link.", id="unclosed is text"),
        pytest.param("Close }} and ]] and |} here.", "Close and and |} here.", id="stray ends go"),
        pytest.param("<ref>never closed. Text.", "never closed. Text.", id="unclosed element"),
        pytest.param("水是化合物。[[氢|氢元素]]。", "水是化合物。氢元素。", id="Chinese"),
    ],
)
def test_markup_becomes_prose(source: str, prose: str) -> None:
    assert strip_wikitext(source) == prose


@pytest.mark.parametrize(
    "unit",
    ["{{", "[[", "{{a|", "}}", "]]", "<ref>", "<!--", "[http://a ", "'''", "{|\n", "\n|}", "(", "<a ", "=", "{{x}}"],
)
def test_time_is_linear_in_the_length(unit: str) -> None:
    strip_wikitext(unit * 1000)
    begin = time.process_time()
    strip_wikitext(unit * (400_000 // len(unit)))
    assert time.process_time() - begin < 4.0  # quadratic time would take minutes
