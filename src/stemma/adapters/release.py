"""A release: register a fine-tuned pair, hold it against the gate, and move the champion's alias or not.

Everything can be done again: bytes that the registry has are not registered a second time, and a decision on the same
bytes, evidence and champion is not written down a second time.
"""

import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from stemma.adapters import packing, provenance
from stemma.adapters.evidence import Sources, gather, read_evidence, read_split, validation_scores, write_evidence
from stemma.adapters.model_card import write_card
from stemma.adapters.registry import CHALLENGER, CHAMPION, Registry, Version
from stemma.config import Params
from stemma.errors import InputError, ReleaseError
from stemma.files import digest_tree, verify_manifest
from stemma.release.gate import Decision, Reason, decide
from stemma.release.ledger import Entry, Ledger, champions, rolled_back
from stemma.release.scorecard import Scorecard, median_seed
from stemma.tasks.base import PREDICTION_SCHEMAS
from stemma.tasks.storage import split_path

__all__ = ["Outcome", "Releaser", "reconcile", "roll_back"]

MAKER_TAG: Final = "stemma.training_run"
ENTRY_TAG: Final = "stemma.ledger_entry"  # the hash of the ledger's entry that made a version champion
_EXAMPLES: Final = 2
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one pair's release."""

    version: Version
    seed: int
    champion_before: str | None
    decision: Decision | None  # None: these bytes are the champion already
    is_new: bool  # whether the version, or the decision on it, is

    @property
    def promoted(self) -> bool:
        """Whether the champion's alias was moved."""
        return self.decision is not None and self.decision.promote

    def lines(self) -> list[str]:
        """What a person is told: the verdict, then every reason."""
        maker = self.version.tags.get(MAKER_TAG)
        made = f"made by run {maker}" if maker else "no run in the store has made its bytes"
        name = f"{self.version.model} version {self.version.number} (seed {self.seed}, {made})"
        if self.decision is None:
            return [f"{name}: is the champion already"]
        over = f" in place of version {self.champion_before}" if self.champion_before else ", the first"
        stays = f"version {self.champion_before} stays" if self.champion_before else "there is still no champion"
        verdict = f"PROMOTED{over}" if self.promoted else f"REFUSED; {stays}"
        again = "" if self.is_new else " (decided before)"
        return [f"{name}: {verdict}{again}", *(f"  {reason}" for reason in self.decision.reasons)]


class Releaser:
    """Releases pairs from the pipeline's outputs."""

    def __init__(self, params: Params, sources: Sources, registry: Registry, ledger: Ledger, lock: Path) -> None:
        self._params, self._sources, self._registry, self._ledger, self._lock = params, sources, registry, ledger, lock

    def release(self, pair: str) -> Outcome:
        """Register, check, judge; raises when that can't be done, but not when the gate refuses."""
        reconcile(self._registry, self._ledger, pair)
        seed = median_seed(validation_scores(self._params, pair, self._sources))
        card = gather(self._params, pair, self._sources)
        version, is_new = self._version(pair, seed, card)
        self._registry.set_alias(version, CHALLENGER)
        champion = self._registry.at(pair, CHAMPION)
        if champion is not None and champion.number == version.number:
            return Outcome(version=version, seed=seed, champion_before=champion.number, decision=None, is_new=is_new)
        decision, entry, is_new_decision = self._decide(version, card, champion)
        if decision.promote:
            self._promote(version, champion, entry)
        before = champion.number if champion else None
        return Outcome(version=version, seed=seed, champion_before=before, decision=decision, is_new=is_new_decision)

    def _version(self, pair: str, seed: int, card: Scorecard) -> tuple[Version, bool]:
        """The version with these bytes, registered and checked if there is none, with this evidence."""
        model_dir = self._sources.finetuned / pair / f"seed-{seed}"
        verify_manifest(model_dir)
        digest = digest_tree([model_dir])
        found = self._registry.find(pair, digest)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "evidence"
            folder.mkdir()
            write_evidence(card, folder)
            evidence = digest_tree([folder])
            if found is not None and found.evidence_digest == evidence:
                return found, False
            figures = {"test_mean": card.mean, "test_low": card.low, "test_high": card.high, "majority": card.majority}
            run = self._registry.keep_evidence(pair, folder, figures, provenance.git_tags())
            version = found or self._register(pair, seed, card, digest, run)
            return self._registry.link_evidence(version, run, evidence), found is None

    def _register(self, pair: str, seed: int, card: Scorecard, digest: str, evidence_run: str) -> Version:
        """Register a seed's model, load it back, and compare its answers with those that were stored."""
        kind = self._params.tasks[card.task].kind
        maker = self._registry.find_maker(digest_tree([self._sources.finetuned / pair]))
        facts = {"digest": digest, "evidence run": evidence_run} | ({"training run": maker} if maker else {})
        facts |= {name.removeprefix("stemma."): value for name, value in provenance.git_tags().items()}
        rows = read_split(self._params.tasks[card.task], split_path(self._sources.tasks / card.task, "validation"))
        text = write_card(self._params, card, seed, facts)
        with tempfile.TemporaryDirectory() as name:
            packed = Path(name) / "model"
            model_dir = self._sources.finetuned / pair / f"seed-{seed}"
            packing.pack(model_dir, kind, rows.slice(0, _EXAMPLES), text, self._lock, packed)
            tags = {"stemma.seed": str(seed), "stemma.task": card.task, MAKER_TAG: maker or ""}
            version = self._registry.register(pair, packed, maker or evidence_run, tags, text)
        stored = self._stored_answers(pair, seed, kind)
        problem = packing.difference(stored, packing.load_back(version.uri, kind, rows))
        if problem:
            raise ReleaseError(f"{version.uri}: loaded back, it does not give the stored answers: {problem}")
        return self._registry.confirm(version, digest)

    def _stored_answers(self, pair: str, seed: int, kind: Any) -> Any:
        path = self._sources.finetuned / pair / "predictions" / f"validation-seed-{seed}.parquet"
        if not path.is_file():
            raise InputError(f"{path}: no such file; run `dvc repro finetune@{pair}`")
        return pq.read_table(path, schema=PREDICTION_SCHEMAS[kind])

    def _decide(self, version: Version, card: Scorecard, champion: Version | None) -> tuple[Decision, Entry, bool]:
        """Ask the gate, and write down what it says unless that is written already."""
        entries = self._ledger.entries()
        decision = decide(card, self._scorecard(champion), self._params.release, _vetoes(entries, version))
        facts: dict[str, Any] = {
            "version": version.number,
            "digest": version.digest,
            "evidence": version.evidence_digest,
            "champion": champion.number if champion else None,
            "promote": decision.promote,
            "reasons": [vars(reason) for reason in decision.reasons],
            "scorecard": card.as_dict(),
            "rules": self._params.release.model_dump(),
        }
        known = next((entry for entry in reversed(entries) if _is_decision(entry, version.model, facts)), None)
        if known is not None and not decision.promote:
            return decision, known, False
        return decision, self._ledger.append("decision", version.model, facts), True

    def _scorecard(self, champion: Version | None) -> Scorecard | None:
        if champion is None:
            return None
        with self._registry.evidence(champion) as folder:
            if folder is None:
                raise ReleaseError(
                    f"{champion.uri} is @{CHAMPION} but has no evidence to compare with; move that alias to a version that"
                    " a release has made, or remove it"
                )
            return read_evidence(folder)

    def _promote(self, version: Version, champion: Version | None, decision: Entry) -> None:
        self._registry.set_alias(version, CHAMPION)
        over = champion.number if champion else None
        facts = {"version": version.number, "digest": version.digest, "over": over, "decision": decision.number}
        entry = self._ledger.append("promotion", version.model, facts)
        self._registry.tag(version, {ENTRY_TAG: entry.hash})


def roll_back(model: str, registry: Registry, ledger: Ledger) -> tuple[Version, Version]:
    """Move the champion's alias back to the version that was champion before; from which, to which."""
    reconcile(registry, ledger, model)
    stack = champions(ledger.entries(), model)
    if len(stack) < 2:  # the present one and one to go back to
        raise ReleaseError(f"{model}: no earlier champion to roll back to; `stemma ledger {model}` shows its history")
    present, earlier = (registry.get(model, number) for number in (stack[-1], stack[-2]))
    registry.set_alias(earlier, CHAMPION)
    ledger.append("rollback", model, {"version": present.number, "digest": present.digest, "to": earlier.number})
    return present, earlier


def reconcile(registry: Registry, ledger: Ledger, model: str) -> None:
    """Write down an alias that was moved by hand, or by a release that was killed before it could."""
    entries = ledger.entries()
    champion, stack = registry.at(model, CHAMPION), champions(entries, model)
    if champion is None or (stack and stack[-1] == champion.number):
        return
    made_by = champion.tags.get(ENTRY_TAG)
    note = "found so: moved by hand, or by a release that was killed"
    if made_by and made_by not in {entry.hash for entry in entries}:
        note = "found so: the entry that made it champion is not in this ledger, which was cut or is another's"
    over = stack[-1] if stack else None
    facts = {"version": champion.number, "digest": champion.digest, "over": over, "note": note}
    ledger.append("promotion", model, facts)
    _log.warning("%s: @%s is on version %s, %s", model, CHAMPION, champion.number, note)


def _vetoes(entries: list[Entry], version: Version) -> list[Reason]:
    number = rolled_back(entries, version.model).get(version.digest)
    if number is None:
        return []
    return [
        Reason("history", False, f"these bytes were rolled back (ledger entry {number}); only other bytes can follow")
    ]


def _is_decision(entry: Entry, model: str, facts: Mapping[str, Any]) -> bool:
    same = ("digest", "evidence", "champion", "promote", "rules")
    return (
        entry.kind == "decision" and entry.model == model and all(entry.facts.get(name) == facts[name] for name in same)
    )
