"""The page in a real browser, as wide as a phone and as a desk, light and dark: what fits, what is drawn, what is fetched."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from stemma.leaderboard.page import page
from tests import toy_board, toy_lineage

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FOUND = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = pytest.mark.skipif(
    FOUND is None, reason=f"no browser is installed: none of {', '.join(BROWSERS)} is on PATH"
)
PHONE, DESK = 390, 1280

# Put into a copy of the page, whose policy allows no script.
# It measures itself, and leaves what it found in the page around it, where `--dump-dom` prints it.
PROBE = """<script>
const box = (query) => [...document.querySelectorAll(query)].map((one) => one.getBoundingClientRect());
const first = document.querySelector(".heat");
const scroll = first.parentElement;
const strong = [...first.querySelectorAll("td")].find((one) => one.style.getPropertyValue("--h") === "1.00");
const inside = (one) => [one, ...one.querySelectorAll("small")].every((part) => part.scrollWidth <= one.clientWidth + 1);
scroll.scrollLeft = 100;
scroll.scrollTop = 100;
const measured = {
  width: document.documentElement.clientWidth,
  page: document.documentElement.scrollWidth,
  outside: box("h1, h2, h3, nav a, p, figure, details, .scroll").filter((one) => one.right > innerWidth + 0.5).length,
  lines: box("svg polyline").map((one) => [one.width, one.height]),
  charts: box("figure").map((one) => one.width),
  name: first.querySelector("tbody th").getBoundingClientRect().left - scroll.getBoundingClientRect().left,
  heading: first.querySelector("thead th").getBoundingClientRect().top - scroll.getBoundingClientRect().top,
  overflowing: [...document.querySelectorAll("tbody th")].filter((one) => !inside(one)).map((one) => one.textContent),
  tall: scroll.getBoundingClientRect().height / innerHeight,
  moved: scroll.scrollLeft,
  ink: getComputedStyle(document.body).color,
  paper: getComputedStyle(document.body).backgroundColor,
  strong: getComputedStyle(strong).backgroundColor,
  small: Math.min(...[...document.querySelectorAll("td, p, li")].map((one) => parseFloat(getComputedStyle(one).fontSize))),
  fetched: performance.getEntriesByType("resource").length,
  alerts: document.querySelectorAll("script").length,
};
parent.document.body.dataset.measured = JSON.stringify(measured);
</script>"""


def measure(folder: Path, width: int, *, dark: bool = False, wide: bool = False) -> dict[str, Any]:
    """What a browser makes of the page in a frame so wide: its own window can not be as narrow as a phone."""
    text = page(toy_lineage.table(), toy_lineage.curves()) if wide else page(toy_board.table(), toy_board.CURVES)
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace("</body>", f"{PROBE}</body>")
    size = f"border:0;display:block;width:{width}px;height:900px"
    around = f'<!doctype html><body style="margin:0"><iframe style="{size}" srcdoc="{escape(text)}"></iframe>'
    (folder / "page.html").write_text(around, encoding="utf-8")
    command = [
        str(FOUND),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",  # as on a phone
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={max(width, 500)},900",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--dump-dom",
        (folder / "page.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(r'data-measured="([^"]*)"', done.stdout)
    assert found is not None, done.stdout
    measured: dict[str, Any] = json.loads(unescape(found[1]))
    return measured


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_page_fits_and_draws_its_curves(tmp_path, width):
    measured = measure(tmp_path, width)
    assert measured["width"] == width
    assert measured["page"] <= width  # only tables scroll sideways, each within its own frame
    assert measured["outside"] == 0
    assert len(measured["lines"]) == 7  # three variants on two tasks, and one pretraining
    assert all(across > 100 and up > 20 for across, up in measured["lines"])
    assert measured["small"] >= 12
    assert measured["name"] <= 2  # a row's name stays in sight while its figures move
    assert (measured["moved"] > 0) == (width == PHONE)
    columns = 1 if width == PHONE else 3
    assert all(width / (columns + 2) < chart < width / columns for chart in measured["charts"])


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_twelve_variants_on_seventeen_columns_can_be_read(tmp_path, width):
    measured = measure(tmp_path, width, wide=True)
    assert measured["page"] <= width
    assert measured["outside"] == 0
    assert measured["overflowing"] == []  # no row's name, nor what stands below it, runs into its figures
    assert measured["tall"] <= 0.91  # the table scrolls within its frame,
    assert (measured["name"] <= 2, measured["heading"] <= 2) == (True, True)  # so that both its headings stay in sight
    assert measured["moved"] == 100


def test_nothing_is_fetched_and_no_text_runs_as_a_script(tmp_path):
    measured = measure(tmp_path, DESK)
    assert measured["fetched"] == 0
    assert measured["alerts"] == 1  # the one that measures


@pytest.mark.parametrize("dark", [False, True])
def test_the_reader_chooses_light_or_dark_and_can_read_either(tmp_path, dark):
    measured = measure(tmp_path, PHONE, dark=dark)
    ink, paper, strong = (luminance(measured[name]) for name in ("ink", "paper", "strong"))
    assert (paper < ink) == dark
    for ground in (paper, strong):
        light, deep = max(ink, ground), min(ink, ground)
        assert (light + 0.05) / (deep + 0.05) >= 4.5  # WCAG 2.2, contrast (minimum)


def luminance(colour: str) -> float:
    """WCAG's relative luminance of `rgb(…)`, or of what `color-mix` gives, `color(srgb …)`."""
    values = [float(number) for number in re.findall(r"[\d.]+", colour.removeprefix("color(srgb"))[:3]]
    shares = values if colour.startswith("color") else [value / 255 for value in values]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
