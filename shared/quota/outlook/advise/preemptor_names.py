"""Which workload a claim or an eviction means: its name where it is still there, also where only its uid is written."""

from shared.quota.measure.inputs.world import World


class PreemptorNames:
    """Looks preemptors up in one world; all of it is read once, when a uid alone has to be found."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._by_uid: dict[str, str] | None = None

    def of(self, name: str, uid: str) -> str:
        """Return namespace/name; empty where it is not written, and no workload has the uid."""
        if name or not uid:
            return name
        if self._by_uid is None:
            every = (each for found in self._world.workload_sets.values() for each in found.by_id.values())
            self._by_uid = {each.uid: each.key for each in every}
        return self._by_uid.get(uid, "")
