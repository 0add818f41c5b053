import pytest

from stemma.text.templates import render_template


@pytest.mark.parametrize(
    ("body", "prose"),
    [
        ("convert|5|km|mi", "5 km"),
        ("Convert|3|to|5|km|abbr=on", "3 to 5 km"),
        ("cvt|-40|C|F", "-40 C"),
        ("lang|el|ἀρχή", "ἀρχή"),
        ("transl|el|arkhē", "arkhē"),
        ("nowrap|a b", "a b"),
        ("nihongo|Tokyo|東京|Tōkyō", "Tokyo"),
        ("quote|Words.|Author", "\n\nWords.\n\n"),
        ("chem|H|2|O", "H2O"),
        ("frac|1|2", "1/2"),
        ("frac|2|1|2", "2 1/2"),
        ("circa|1500", "c. 1500"),
        ("As of|2010|lc=y", "As of 2010"),
        ("formatnum: 12345", "12345"),
        ("spaced_ndash", " – "),
        ("'s", "'s"),
        ("Infobox person|name=X", ""),
        ("cite web|url=http://x|title=Y", ""),
        ("", ""),
        ("lang", ""),
    ],
)
def test_templates(body: str, prose: str) -> None:
    assert render_template(body) == prose
