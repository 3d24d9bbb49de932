"""What a judge answers: yes, yes with changes, or no with every broken rule; and how that is written down."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.api.patches import Operation
from shared.api.review import write_allowed, write_denied
from shared.quota.model import rules
from shared.quota.model.rules import Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import FORBIDDEN


@dataclass(frozen=True, slots=True)
class Allow:
    """Yes. `operations` is a JSON Patch on the object, from a mutating judge only."""

    operations: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()
    audit: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deny:
    """No. `code` is the HTTP status that the user's client gets, `reason` its machine-readable word."""

    violations: tuple[Violation, ...]
    code: int = 422
    reason: str = "Invalid"
    warnings: tuple[str, ...] = ()
    retry_after: int = 0
    """After so many seconds the client is to ask again by itself; 0: it is not told to."""

    @property
    def message(self) -> str:
        """Every broken rule in one sentence each, at most 4 KB."""
        return rules.write_violations(self.violations)


Verdict = Allow | Deny
YES: Final = Allow()


def verdict_of(findings: Findings) -> Verdict:
    """The verdict that findings mean: 403 where something is not allowed to this user now, else 422."""
    warnings = tuple(warning.text for warning in findings.warnings)
    if not findings.violations:
        return Allow(warnings=warnings) if warnings else YES
    if any(found.rule in FORBIDDEN for found in findings.violations):
        return Deny(findings.violations, 403, "Forbidden", warnings)
    return Deny(findings.violations, warnings=warnings)


def write_verdict(uid: str, verdict: Verdict) -> bytes:
    """The AdmissionReview that says so."""
    if isinstance(verdict, Allow):
        return write_allowed(uid, verdict.operations, verdict.warnings, verdict.audit)
    return write_denied(
        uid,
        verdict.code,
        verdict.reason,
        verdict.message,
        warnings=verdict.warnings,
        retry_after=verdict.retry_after,
    )


def codes_of(verdict: Verdict) -> tuple[str, ...]:
    """The codes of the broken rules, each once; none for a yes."""
    return () if isinstance(verdict, Allow) else tuple(dict.fromkeys(found.rule for found in verdict.violations))
