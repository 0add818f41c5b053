"""Great Expectations' Data Docs, built from the canonical JSON of validation's results.

The stage's outs hold no pages, as those carry times; they are made anew from the JSON, by Great Expectations' own
renderers. Its templates load styles and scripts from the network: here a few of them are replaced, so that the pages need
neither, and show nothing that the JSON does not hold.
"""

import html
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from stemma.errors import InputError
from stemma.files import atomic_dir, read_json

__all__ = ["build_data_docs"]

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; color: #212529; }
.row, .ge-navigation-sidebar-content { display: block; padding: 0; list-style: none; }
.nav-item { display: inline-block; margin-right: 1rem; }
.table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
.table th, .table td { border-top: 1px solid #dee2e6; padding: .3rem .6rem; text-align: left; vertical-align: top; }
.alert { background: #e2e3e5; border-radius: .25rem; padding: .5rem 1rem; }
.badge { background: #e9ecef; border-radius: .25rem; padding: 0 .3rem; }
.text-success { color: #198754; }
.text-danger { color: #dc3545; }
.fas { font-style: normal; }
.fa-check-circle::before { content: "\\2714"; }
.fa-times::before { content: "\\2718"; }
.fa-exclamation-triangle::before { content: "\\26A0"; }
h4, h5, h6 { margin: .3rem 0; }
"""
# What stands in the place of Great Expectations' own parts that need the network.
_PARTS: Final = {
    "data_docs_default_styles.css": _STYLE,
    "js_script_imports.j2": "",
    "favicon.j2": "",
    "page_action_card.j2": "",
    "cloud-footer.j2": "",
    "ge_info.j2": "<h4>Data Docs: {{ page_title }}</h4>",
    "top_navbar.j2": '<nav><a href="index.html">All inputs</a></nav>',
}
_EXTERNAL_LINK: Final = re.compile(r'<link\b[^>]*href="https?:[^>]*>')


def build_data_docs(report: Path, out: Path) -> Path:
    """Write a page for every input of a validation report, and an index of them, into the folder `out`."""
    inputs = read_json(report).get("inputs")
    if not isinstance(inputs, dict):
        raise InputError(f"{report}: no 'inputs'; expected the report that validate writes")
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    with atomic_dir(out) as folder:
        for name, entry in inputs.items():
            (folder / _page_name(name)).write_text(_input_page(name, entry), encoding="utf-8")
        (folder / "index.html").write_text(_index_page(inputs), encoding="utf-8")
    return out / "index.html"


def _page_name(name: str) -> str:
    return f"{name.replace('/', '-')}.html"


def _input_page(name: str, entry: Mapping[str, Any]) -> str:
    from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
    from great_expectations.render.view.view import DefaultJinjaPageView

    document = ValidationResultsPageRenderer(run_info_at_end=True).render(_suite_result(name, entry))
    document.page_title = html.escape(name)
    document.sections.pop()  # run name and run time, which a report has none of
    document.sections.insert(1, _facts_section(entry))
    return _render(DefaultJinjaPageView(), document)


def _index_page(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    from great_expectations.render.components import RenderedDocumentContent, RenderedSectionContent
    from great_expectations.render.view.view import DefaultJinjaIndexPageView

    rows = [
        [
            f'<a href="{_page_name(name)}">{html.escape(name)}</a>',
            html.escape("; ".join(entry["problems"]) or "passed"),
            f"{entry['rows']:,}",
            f"{entry['quarantined']:,}",
            f"{sum(result['success'] for result in entry['results'])} of {len(entry['results'])}",
        ]
        for name, entry in inputs.items()
    ]
    table = _table("Inputs", rows, ["Input", "Outcome", "Rows", "In quarantine", "Expectations met"])
    document = RenderedDocumentContent(
        renderer_type="SiteIndexPageRenderer",
        page_title="inputs",
        sections=[RenderedSectionContent(section_name="Inputs", content_blocks=[table])],
        utm_medium="index-page",
    )
    return _render(DefaultJinjaIndexPageView(), document)


def _render(view: Any, document: Any) -> str:
    from jinja2 import ChoiceLoader, DictLoader

    view.env.loader = ChoiceLoader([DictLoader(_PARTS), view.env.loader])
    page: str = view.render(document, show_how_to_buttons=False)
    return _EXTERNAL_LINK.sub("", page)


def _suite_result(name: str, entry: Mapping[str, Any]) -> Any:
    """The result of a suite, as if Great Expectations had just found it."""
    from great_expectations.core import ExpectationSuiteValidationResult

    met = sum(result["success"] for result in entry["results"])
    return ExpectationSuiteValidationResult(
        success=not entry["problems"],
        results=[_expectation_result(result) for result in entry["results"]],
        suite_name=name,
        suite_parameters={},
        statistics={
            "evaluated_expectations": len(entry["results"]),
            "successful_expectations": met,
            "unsuccessful_expectations": len(entry["results"]) - met,
            "success_percent": 100 * met / max(len(entry["results"]), 1),
        },
        meta={"batch_spec": {"data_asset_name": name}},
    )


def _expectation_result(result: Mapping[str, Any]) -> Any:
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    figures = dict(result["result"])
    if "element_count" in figures:
        figures["unexpected_percent"] = 100 * figures["unexpected_count"] / max(figures["element_count"], 1)
        figures["partial_unexpected_list"] = []
    return ExpectationValidationResult(
        success=result["success"],
        expectation_config=ExpectationConfiguration(type=result["type"], kwargs=dict(result["kwargs"])),
        result=figures,
        exception_info={"raised_exception": False, "exception_message": None, "exception_traceback": None},
    )


def _facts_section(entry: Mapping[str, Any]) -> Any:
    from great_expectations.render.components import RenderedSectionContent

    rows = [["rows", f"{entry['rows']:,}"], ["in quarantine", f"{entry['quarantined']:,}"]]
    rows += [[f"fail: {html.escape(rule)}", f"{count:,}"] for rule, count in entry["failures"].items()]
    rows += [["refused because", html.escape(problem)] for problem in entry["problems"]]
    rows += [[html.escape(name), html.escape(_plain(value))] for name, value in entry["facts"].items()]
    return RenderedSectionContent(section_name="Counts", content_blocks=[_table("Counts", rows, ["What", "How many"])])


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def _table(title: str, rows: list[list[str]], header: list[str]) -> Any:
    from great_expectations.render.components import RenderedTableContent

    return RenderedTableContent(
        content_block_type="table",
        header=title,
        header_row=header,
        table=rows,
        styling={"classes": ["col-12"], "body": {"classes": ["table"]}},
    )
