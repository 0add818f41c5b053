"""Great Expectations as the judge of rules: it says which rows of a table fail which rule.

It is imported only when a judge is made, as that takes seconds. Its own results carry run times and batch ids; what is
kept of them is a function of the data and the rules alone.
"""

import os
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from stemma.data.row_rules import Rule, Verdict

__all__ = ["GreatExpectations"]

_KEPT: Final = ("element_count", "missing_count", "unexpected_count", "observed_value")


class GreatExpectations:
    """An ephemeral context, with analytics and progress bars off."""

    def __init__(self) -> None:
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        import great_expectations
        from great_expectations.data_context.types.base import ProgressBarsConfig

        self._library = great_expectations
        context = great_expectations.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
        asset = context.data_sources.add_pandas("stemma").add_dataframe_asset("table")
        self._batches = asset.add_batch_definition_whole_dataframe("rows")

    def judge(self, table: pa.Table, rules: Sequence[Rule]) -> list[Verdict]:
        """Check every rule on a table of derived columns; one verdict a rule, in their order."""
        assert len({rule.name for rule in rules}) == len(rules), "two rules of one name"
        suite = self._library.ExpectationSuite(name="rules", expectations=[_configuration(rule) for rule in rules])
        batch = self._batches.get_batch({"dataframe": table.to_pandas()})
        outcome = batch.validate(suite, result_format={"result_format": "COMPLETE", "partial_unexpected_count": 0})
        results: list[dict[str, Any]] = [dict(result.to_json_dict()) for result in outcome.results]
        by_rule = {result["expectation_config"]["meta"]["rule"]: result for result in results}
        return [_verdict(rule, by_rule[rule.name]) for rule in rules]


def _configuration(rule: Rule) -> dict[str, Any]:
    return {"type": rule.expectation, "kwargs": dict(rule.kwargs), "meta": {"rule": rule.name}}


def _verdict(rule: Rule, result: dict[str, Any]) -> Verdict:
    info = result["exception_info"]  # of the expectation, or one a metric
    raised = [one["exception_message"] for one in ([info] if "raised_exception" in info else info.values()) if one]
    assert not any(raised), f"{rule.expectation} {dict(rule.kwargs)}: {raised[0]}"
    return Verdict(
        rule=rule,
        success=bool(result["success"]),
        result={name: result["result"][name] for name in _KEPT if name in result["result"]},
        failing=result["result"].get("unexpected_index_list") or [],
    )
