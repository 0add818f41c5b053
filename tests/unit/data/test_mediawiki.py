import io

import pytest

from stemma.data import mediawiki
from stemma.data.mediawiki import Page, read_pages
from stemma.errors import InputError

PAGE = """<page><title>{title}</title><ns>0</ns><id>{id}</id>{redirect}
<revision><id>99</id><contributor><id>5</id></contributor><text xml:space="preserve">{text}</text></revision></page>"""


def dump(*pages: str, head: str = "") -> bytes:
    return f'{head}<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">{"".join(pages)}</mediawiki>'.encode()


def read(data: bytes) -> list[Page]:
    return list(read_pages(io.BytesIO(data), "dump.xml"))


def test_pages_keep_their_own_id_not_the_revisions() -> None:
    pages = read(dump(PAGE.format(title="A", id=7, redirect="", text="one &amp; &lt;b&gt;")))
    assert pages == [Page(id="7", title="A", namespace="0", is_redirect=False, text="one & <b>")]


def test_redirects_are_marked_on_their_own_page_only() -> None:
    data = dump(
        PAGE.format(title="A", id=1, redirect='<redirect title="B" />', text="#REDIRECT [[B]]"),
        PAGE.format(title="B", id=2, redirect="", text="text"),
    )
    assert [page.is_redirect for page in read(data)] == [True, False]


def test_pages_longer_than_a_block_are_whole() -> None:
    text = "word " * 200_000
    assert read(dump(PAGE.format(title="A", id=1, redirect="", text=text)))[0].text == text


def test_a_document_type_is_refused_before_it_can_expand() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    with pytest.raises(InputError, match=r"dump.xml: has a document type"):
        read(dump(PAGE.format(title="A", id=1, redirect="", text="&b;"), head=bomb))


def test_broken_xml_names_file_and_line() -> None:
    with pytest.raises(InputError, match=r"dump.xml:3: not a well-formed XML dump"):
        read(b"<mediawiki>\n<page>\n</mediawiki>")


def test_a_truncated_dump_is_an_error() -> None:
    whole = dump(PAGE.format(title="A", id=1, redirect="", text="text"))
    with pytest.raises(InputError, match=r"dump.xml:2: not a well-formed XML dump"):
        read(whole[:-20])


def test_other_xml_is_no_dump() -> None:
    with pytest.raises(InputError, match="not a MediaWiki dump"):
        read(b"<html><body/></html>")


def test_a_page_without_id_is_named() -> None:
    with pytest.raises(InputError, match="a <page> without <id>: A"):
        read(dump("<page><title>A</title></page>"))


def test_an_absurdly_long_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediawiki, "MAX_PAGE_CHARACTERS", 100)
    with pytest.raises(InputError, match="page 'A' is longer than 100 characters"):
        read(dump(PAGE.format(title="A", id=1, redirect="", text="x" * 200)))
