"""The parts of an object that could not be read: kept with it, so that the rules report them with everything else."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unread:
    """One field that was left out. `rule` is the code of the rule that reports it, `message` says what is wrong."""

    rule: str
    field: str
    message: str


BAD_FIELD = "BadField"
"""Not what the schema allows there: an unknown field, a wrong type, a word outside the list."""
BAD_SCHEDULE = "BadSchedule"
"""Not a schedule of cron with five fields."""
UNKNOWN_ZONE = "UnknownTimeZone"
"""Not a name of the IANA database of time zones."""
BAD_QUANTITY = "BadQuantity"
"""Not a quantity, or not in 0 ≤ q < 2^63 base units."""
