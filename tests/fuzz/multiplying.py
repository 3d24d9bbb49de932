"""How a tenant tries to run a multiple of its quota: what it has deleted comes again while it still ends.

Members of pod groups are replaced by the tenant itself, pods of JobSets by the Job controller and by JobSet's operator.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from shared.api.names import GROUP_LABEL, HOLD_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL, PREEMPTIBLE_LABEL
from tests.chaos.judging.history.records import JOBSET
from tests.fuzz import manifests
from tests.fuzz.actor import MERGE, MOST_OBJECTS, Actor
from tests.fuzz.manifests import FINALIZER, Body
from tests.fuzz.organisation import Tenant

JOBSETS: Final = JOBSET.resource
JOBSET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
SLOW: Final = {"gracePeriodSeconds": 60, "propagationPolicy": "Background"}


def create_jobset(actor: Actor) -> None:
    """A JobSet, or, where there are many, the end of one."""
    if len(actor.all(JOBSETS)) >= MOST_OBJECTS // 3:
        return delete_jobset(actor)
    body = manifests.jobset(actor.random, actor.tenant, actor.new_name("set"))
    actor.request("create jobset", "POST", actor.path(JOBSETS), body)
    return None


def delete_jobset(actor: Actor) -> None:
    """With its Jobs."""
    found = actor.one(JOBSETS)
    if found is not None:
        policy = actor.random.choice(("Background", "Foreground"))
        path = actor.path(JOBSETS, found["metadata"]["name"])
        actor.request("delete jobset", "DELETE", path, {"propagationPolicy": policy})


def patch_jobset(actor: Actor) -> None:
    """What its owner may and must not change of it."""
    found = actor.one(JOBSETS)
    if found is not None:
        change = actor.random.choice(_CHANGES)(actor.random, actor.tenant)
        actor.request("patch jobset", "PATCH", actor.path(JOBSETS, found["metadata"]["name"]), change, MERGE)


def join_jobset(actor: Actor) -> None:
    """A Job or pod that claims to be made for a JobSet."""
    found = actor.one(JOBSETS)
    if found is None:
        return
    kind = actor.random.choice(("jobs", "pods"))
    make = manifests.job(actor.random, actor.tenant, actor.new_name("child"))
    if kind == "pods":
        make = manifests.pod(actor.random, actor.tenant, actor.new_name("child"), [])
    make["metadata"]["ownerReferences"] = [manifests.owner_reference(found)]
    actor.request(f"create {kind} of a jobset", "POST", actor.path(kind), make)


def delete_pods_of_jobsets(actor: Actor) -> None:
    """Again and again: others come in their place at once."""
    path = f"{actor.path('pods')}?labelSelector={JOBSET_NAME}"
    for _ in range(actor.random.randint(1, 4)):
        actor.request("delete pods of jobsets", "DELETE", path, SLOW)


def replace_members(actor: Actor) -> None:
    """Delete the members of pod groups, and create others with their labels, several times; where none is, a group."""
    if not _members(actor):
        for _ in range(2):
            actor.request("create member", "POST", actor.path("pods"), _member(actor, _GANG))
    for _ in range(actor.random.randint(1, 3)):
        for each in _members(actor):
            path = actor.path("pods", each["metadata"]["name"])
            actor.request("delete member", "DELETE", path, SLOW)
            body = _member(actor, each["metadata"]["labels"])
            actor.request("replace member", "POST", actor.path("pods"), body)


def _members(actor: Actor) -> list[Body]:
    """The pods of groups that are not being deleted."""
    found = (each for each in actor.all("pods") if POD_GROUP_LABEL in each["metadata"].get("labels", {}))
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]


def _member(actor: Actor, like: Body) -> Body:
    """A pod of the group that these labels name."""
    body = manifests.pod(actor.random, actor.tenant, actor.new_name("member"), [])
    own = {name: text for name, text in like.items() if name in _OF_MEMBERS}
    body["metadata"]["labels"] = {GROUP_LABEL: actor.tenant.groups[0], **own}
    return body


_GANG: Final = {POD_GROUP_LABEL: "gang-0", POD_GROUP_SIZE_LABEL: "2"}
_OF_MEMBERS: Final = (GROUP_LABEL, PREEMPTIBLE_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL)
_CHANGES: Final[tuple[Callable[[Random, Tenant], Body], ...]] = (
    lambda random, _: {"spec": {"suspend": random.choice((True, False, None))}},
    lambda random, tenant: {"metadata": {"labels": {GROUP_LABEL: random.choice((*tenant.groups, None))}}},
    lambda random, _: {"metadata": {"labels": {PREEMPTIBLE_LABEL: random.choice(("true", "false", None))}}},
    lambda random, _: {"metadata": {"labels": {HOLD_LABEL: random.choice(("true", None))}}},
    lambda random, _: {"metadata": {"annotations": manifests.annotations(random)}},
    lambda random, _: {"metadata": {"annotations": manifests.forgery(random, "0")}},
    lambda random, _: {"metadata": {"finalizers": random.choice(([FINALIZER], None))}},
    lambda random, tenant: {"spec": {"replicatedJobs": manifests.replicated_jobs(random, tenant)}},
)
