"""What a judge returns: allowed, allowed with a patch, or denied with every violated rule; and its JSON form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.api.json.patches import Operation
from shared.api.review import write_allowed, write_denied
from shared.quota.model import rules
from shared.quota.model.rules import Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import FORBIDDEN


@dataclass(frozen=True, slots=True)
class Allow:
    """Allowed. `operations` is a JSON Patch of the object, from a mutating judge only."""

    operations: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()
    audit: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deny:
    """Denied. `code` is the HTTP status that the client gets, `reason` its machine-readable form."""

    violations: tuple[Violation, ...]
    code: int = 422
    reason: str = "Invalid"
    warnings: tuple[str, ...] = ()
    retry_after: int = 0
    """Seconds after which the client should retry; 0: no retry."""

    @property
    def message(self) -> str:
        """Every violated rule, one sentence each, at most 4 KB together."""
        return rules.write_violations(self.violations)


Verdict = Allow | Deny
YES: Final = Allow()


def verdict_of(findings: Findings) -> Verdict:
    """Return the verdict of these findings: 403 where this user is not allowed to do it now, else 422."""
    warnings = tuple(warning.text for warning in findings.warnings)
    if not findings.violations:
        return Allow(warnings=warnings) if warnings else YES
    if any(found.rule in FORBIDDEN for found in findings.violations):
        return Deny(findings.violations, 403, "Forbidden", warnings)
    return Deny(findings.violations, warnings=warnings)


def write_verdict(uid: str, verdict: Verdict) -> bytes:
    """Return the AdmissionReview response."""
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
    """Return the codes of the violated rules, without duplicates; empty for an allowed review."""
    return () if isinstance(verdict, Allow) else tuple(dict.fromkeys(found.rule for found in verdict.violations))
