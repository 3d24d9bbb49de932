"""How Quotree's labels, annotations and gate are spelt, and which of them belong to whom.

Labels are the users' own words. Annotations under `quotree.dev/` are Quotree's, and only its own accounts write them;
OWNER_ANNOTATIONS alone are their owners'.

See docs/specification.md §2.5 and §2.6.
"""

from collections.abc import Mapping
from typing import Final

GROUP: Final = "quotree.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
PREFIX: Final = f"{GROUP}/"

GROUP_LABEL: Final = "quotree.dev/group"
"""On a Job or pod, and on a namespace for all workloads in it: the leaf whose quota is used."""
PREEMPTIBLE_LABEL: Final = "quotree.dev/preemptible"
FLAVOR_LABEL: Final = "quotree.dev/flavor"
"""The only flavor the workload will take."""
PRIORITY_LABEL: Final = "quotree.dev/priority"
"""The workload priority by which it is ordered in its leaf, one of those in the settings."""
HOLD_LABEL: Final = "quotree.dev/hold"
"""The owner's request to wait."""
HOLD_GATE_PREFIX: Final = "hold.quotree.dev/"
"""Of labels by which others, such as a scanner, hold a workload; each holds it by itself."""
POD_GROUP_LABEL: Final = "quotree.dev/pod-group"
"""Plain pods of one namespace with the same value start together or not at all."""
POD_GROUP_SIZE_LABEL: Final = "quotree.dev/pod-group-size"
"""How many pods that are, a whole number from 1 to 1024, the same on every member."""
POD_SET_LABEL: Final = "quotree.dev/pod-set"
"""On a pod of a group: the set of pods, alike in request and placement, that it belongs to. Quotree writes it where its
owner has not."""
UNIT_LABEL: Final = "quotree.dev/unit"
"""On what an operator makes for a started object of a governed kind: that object's uid. Quotree alone writes it: into
the pod templates when the object starts, and on children when their operator makes them."""
MANAGED_LABEL: Final = "quotree.dev/managed"
"""On a namespace: "true" makes all its workloads managed; those that name no group then belong to `default`."""
KUEUE_QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
"""Kueue's: on a workload, the LocalQueue that it waits in."""
RECONCILER_LEASE: Final = "quotree-reconciler"
"""The name of the Lease by which a reconciler leads, unless the settings name another."""
PROCESS_LABEL: Final = "quotree.dev/process"
"""On the chart's Deployments and ConfigMaps of settings: the process that they are for, such as `reconciler`."""

POD_COUNT: Final = "pods"
"""As a resource of a group: how many pods run at once."""
WORKLOAD_COUNT: Final = "workloads"
"""As a resource of a group: how many workloads run at once."""
COUNTED: Final = (POD_COUNT, WORKLOAD_COUNT)
COUNTS: Final = "counts"
"""The name that counts have in place of a flavor; no ResourceFlavor is called so."""

ADMISSION: Final = "quotree.dev/admission"
"""Annotation: quota held. Also the name of the scheduling gate of plain pods."""
EVICTION: Final = "quotree.dev/eviction"
REQUEUE: Final = "quotree.dev/requeue"
NOTICE: Final = "quotree.dev/notice"
TURN: Final = "quotree.dev/turn"
"""Since when a workload larger than its group's share has a turn, and in which flavors."""
SCHEDULER_PREEMPTED: Final = "PreemptedByScheduler"
"""The reason of the event on a workload whose pods kube-scheduler stops."""
POD_GROUP_REFUSED: Final = "PodGroupRefused"
"""Why pods of a started Job are not placed: kube-scheduler waits for their PodGroup, which is refused."""
REPLACEMENT: Final = "quotree.dev/pod-replacement"
"""On a started Job: the podReplacementPolicy that its owner gave it, in words of Kubernetes."""
WAITING: Final = "quotree.dev/waiting"
"""Why a workload that has waited for a while does so; for people, and gone when it starts."""
INJECTED: Final = "quotree.dev/injected"
"""What the webhook put into the pod template for the flavor, so that exactly that can be taken out again."""
USER: Final = "quotree.dev/user"
"""Who created the workload or moved it to its group, where the order of that group is by user; no JSON."""
MAX_USER: Final = 253
"""How many characters the name of a user has who counts alone in the order of a leaf."""

MAX_RUN_TIME: Final = "quotree.dev/max-run-time"
"""How long the workload may run, as its owner declares; a duration such as 8h, no JSON."""
STARTUP: Final = "quotree.dev/startup"
"""How the workload starts up, as its owner declares; JSON."""
EXPECTED_RUN_TIME: Final = "quotree.dev/expected-run-time"
"""How long the workload will run, as its owner expects; a duration such as 90m, no JSON. For forecasts alone."""
OWNER_ANNOTATIONS: Final = frozenset({MAX_RUN_TIME, EXPECTED_RUN_TIME, STARTUP})
"""Those under `quotree.dev/` that owners write."""

GATE: Final = ADMISSION

OWN_POD_GROUP: Final = "quotree-"
"""How the name of a PodGroup begins that Quotree makes for a Job."""

IN_USE: Final = "quotree.dev/in-use"
"""Finalizer on a QuotaGroup or ResourceFlavor: its deletion is accepted at once, and waits until nothing uses it."""

JOB_OWNER_LABEL: Final = "batch.kubernetes.io/controller-uid"
"""Set by the Job controller on every pod it makes: the Job's uid."""
JOB_CONTROLLER: Final = "kubernetes.io/job-controller"
"""What `managedBy` says of a Job whose pods Kubernetes itself makes; absent, it means the same."""

MAX_POD_GROUP: Final = 1024
MAX_POD_SETS: Final = 8
"""So many different sets of pods a workload may have."""
MAIN_POD_SET: Final = "main"
"""The name of the only pod set of a workload that has one."""
TRUE: Final = "true"
FALSE: Final = "false"

JOB_CONTROLLERS: Final = ("system:serviceaccount:kube-system:job-controller", "system:kube-controller-manager")
"""The users as which Kubernetes' Job controller makes pods, with an account of its own or without."""


def is_own(annotation: str) -> bool:
    """Return whether this annotation is Quotree's: no user may write it."""
    return annotation.startswith(PREFIX) and annotation not in OWNER_ANNOTATIONS


def is_person(user: str) -> bool:
    """Return whether this user counts alone in the order of a leaf; `system:` names are Kubernetes' own accounts."""
    return 0 < len(user) <= MAX_USER and not user.startswith("system:")


def creator_in(annotations: Mapping[str, str]) -> str:
    """Return the user for whom the workload counts; empty: for its namespace."""
    user = annotations.get(USER, "")
    return user if is_person(user) else ""


def read_pod_group_size(text: str) -> int | None:
    """Return the size of a pod group, or None when the text is no whole number from 1 to 1024."""
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        return None
    return int(text) if 1 <= int(text) <= MAX_POD_GROUP else None


def hold_gates(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the labels of others that hold what has these labels, in order of their names."""
    return tuple(sorted(name for name, value in labels.items() if name.startswith(HOLD_GATE_PREFIX) and value == TRUE))


def is_held(labels: Mapping[str, str]) -> bool:
    """Return whether the owner or another party holds what has these labels."""
    return labels.get(HOLD_LABEL) == TRUE or bool(hold_gates(labels))
