"""How the words of another system are said here: accounts as groups, partitions as flavors, columns of a table."""

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo

import msgspec

from shared.problems import KeyProblem
from shared.quota.model.in_force.schedules import read_zone
from shared.quota.model.workload import Workload
from shared.resources import QuantityError, read_amount


class ResourceColumn(msgspec.Struct, rename="camel"):
    """The column with the amount of one resource, and the suffix that makes its numbers quantities, such as m or Mi."""

    column: str
    unit: str = ""


class TableColumns(msgspec.Struct, rename="camel", kw_only=True):
    """The columns of a CSV table. Times are RFC 3339, or seconds since `epoch`."""

    name: str
    group: str
    submitted: str
    ended: str
    started: str = ""
    flavor: str = ""
    requests: dict[str, ResourceColumn]
    epoch: str = "2026-01-01T00:00:00Z"

    def __post_init__(self) -> None:
        try:
            if datetime.fromisoformat(self.epoch).tzinfo is None:
                raise KeyProblem("epoch", f"{self.epoch!r} has no time zone; write for example 2026-01-01T00:00:00Z")
        except ValueError as error:
            raise KeyProblem("epoch", f"{self.epoch!r} is not a time such as 2026-01-01T00:00:00Z") from error


class LogMapping(msgspec.Struct, rename="camel"):
    """The file of --mapping."""

    groups: dict[str, str] = {}
    """What the log calls an account, queue or class → group; one that is not named has its own name, in lower case."""
    flavors: dict[str, str] = {}
    """Partition or type of device → flavor; workloads of others take any flavor."""
    resources: dict[str, str] = {}
    """Resource of the log → resource, such as gres/gpu → nvidia.com/gpu."""
    time_zone: str = "UTC"
    """The zone of times that name none."""
    table: TableColumns | None = None

    def __post_init__(self) -> None:
        if read_zone(self.time_zone) is None:
            raise KeyProblem("timeZone", f"{self.time_zone!r} is not a time zone such as Europe/Berlin")

    @property
    def zone(self) -> tzinfo:
        """The time zone."""
        return read_zone(self.time_zone) or UTC

    def group_of(self, name: str) -> str:
        """Return the group of an account, queue or class."""
        return self.groups.get(name) or name.lower().replace("_", "-")


def waiting_workload(
    name: str, group: str, requests: Mapping[str, str], submitted: datetime, flavor: str | None, namespace: str
) -> Workload:
    """Return a workload as it comes. Raises ValueError for a request that is no quantity."""
    try:
        amounts = {resource: read_amount(resource, quantity) for resource, quantity in requests.items()}
    except QuantityError as error:
        raise ValueError(str(error)) from error
    asked = {resource: amount for resource, amount in amounts.items() if amount > 0}
    return Workload(
        f"{namespace}/{name}", group, asked, created=submitted, queued=submitted, only_flavor=flavor or None
    )
