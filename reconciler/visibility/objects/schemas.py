"""The schemas that `kubectl explain` prints: the members of each kind's status."""

from typing import Final

from shared.json_data import Json


def text(about: str) -> Json:
    """Return the schema of a string."""
    return {"type": "string", "description": about}


def whole(about: str) -> Json:
    """Return the schema of an amount or a count."""
    return {"type": "integer", "format": "int64", "description": about}


def flag(about: str) -> Json:
    """True or false."""
    return {"type": "boolean", "description": about}


def moment(about: str) -> Json:
    """Return the schema of a time in RFC 3339."""
    return {"type": "string", "format": "date-time", "description": about}


def members(about: str, **properties: Json) -> Json:
    """Return the schema of an object."""
    return {"type": "object", "description": about, "properties": properties}


def each(about: str, item: Json) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "description": about, "items": item}


_SEEN: Final = {
    "asOf": moment("When the cluster was as it is shown here."),
    "servedBy": text("Leader: the replica that decides. Follower: another one, which sees the same watches."),
}
_KIND: Final = text("Job, Pod, PodGroup, or another kind that Quotree governs.")
_BINDING: Final = {
    "group": text("The group whose limit binds."),
    "resource": text("The resource."),
    "limit": text("Which limit: runtime, ceiling, capacity, effectiveMin or node."),
    "missing": whole("How much is missing, in base units: millicores of cpu, whole units of every other resource."),
}
_FORECAST: Final = members(
    "When it will start, or why that is not known. In lists where it is at hand, up to some minutes old.",
    **{"from": moment("The earliest of the runs ahead."), "until": moment("The latest.")},
    percent=whole("How often a start is between these."),
    assumes=each("On what that rests.", text("One word.")),
    before=whole("How many of its group are before it."),
    endless=whole("How many workloads of unknown run time are taken not to end."),
    unknown=text("Why it is not known, as one word."),
    runs=text("In how many runs ahead it starts."),
)
PENDING_STATUS: Final = members(
    "Where the workload stands, and why it waits.",
    kind=_KIND,
    group=text("The leaf group whose quota it waits for."),
    position=whole("Its place in the queue of its group, from 1; 0 while it is held, backs off or is deactivated."),
    reason=text("Why it waits, as one word."),
    message=text("Why it waits, as a sentence with the numbers."),
    binding=text("The group whose limit binds, if an amount is missing."),
    flavor=text("The flavor of which an amount is missing."),
    resource=text("The resource of which an amount is missing."),
    amount=whole("The missing amount, in base units."),
    missing=text("The missing amount as people write it, with its key."),
    priority=whole("Its priority."),
    queued=moment("Since when it stands in its queue."),
    forecast=_FORECAST,
    **_SEEN,
)
_HOLDER: Final = members(
    "A workload of this namespace, or all workloads of one group in other namespaces together.",
    workload=text("The workload; absent where workloads of other namespaces are summed."),
    workloads=whole("How many workloads of other namespaces are summed."),
    group=text("Its group."),
    amount=whole("How much it uses."),
    borrowed=whole("How much of that its group borrows."),
    recyclable=flag("Whether it could be evicted for the workload that waits; of a sum, whether one of them could."),
    because=text("Why it could not be evicted."),
    until=moment("When a delay alone stops keeping it."),
    claimedBy=text("The workload for which its room is being freed, in this namespace."),
)
_REMEDY: Final = members(
    "A change that lets the workload start: made alone, with what stands in `and`, and no smaller number would do.",
    do=text(
        "RaiseMin, RaiseMax, RaiseBudget, AddCapacity, AddNode, WaitFor, Evict, Resume, ShrinkRequest, "
        "RaiseLendingLimit, RaisePriority or AllowPreemption."
    ),
    group=text("The group."),
    flavor=text("The flavor."),
    resource=text("The resource."),
    by=whole("By how much."),
    example=flag("Whether a smaller number might do as well."),
    priority=whole("For RaisePriority: the least one that does."),
    podSet=text("For ShrinkRequest of a workload with several pod sets: of which one."),
    workload=text("The workload; absent for one of another namespace."),
    hours=text("For RaiseBudget: the hours of the larger budget."),
    period=text("For RaiseBudget: the period of the budget."),
    timeZone=text("For RaiseBudget: where the period begins at midnight."),
    whenSpent=text("For RaiseBudget: what follows when the budget is spent."),
    like=text("For AddNode: the node that the new ones are like."),
) | {"x-kubernetes-preserve-unknown-fields": True}
EXPLANATION_STATUS: Final = members(
    "The same explanation as `quotree explain -o json` prints.",
    workload=text("NAMESPACE/NAME."),
    kind=_KIND,
    state=text("Pending, Running or Evicting."),
    group=text("Its leaf group."),
    position=whole("Its place in the queue of its group, from 1; 0 outside it, as while it runs."),
    entitled=flag("Whether the runtime of its group covers it."),
    reason=text("Why it waits, as one word."),
    message=text("One sentence with the numbers."),
    flavors=each(
        "The flavors that it could take.",
        members(
            "A flavor.",
            flavor=text("Its name."),
            eligible=flag("Whether the workload can take it."),
            entitled=flag("Whether it is entitled in it."),
            binding=members("Where room is missing.", **_BINDING),
            entitlement=members(
                "What the runtime of its group lacks.",
                **_BINDING,
                used=whole("What the group uses, with what is claimed for it."),
                runtime=whole("What the group may use now."),
                min=whole("Its min, as it is in effect."),
            ),
            holders=each("Who uses what is missing, the largest first.", _HOLDER),
            keptIdle=each(
                "Which idle groups keep room there, the most first.",
                members("An idle group.", group=text("The group."), amount=whole("What it keeps.")),
            ),
            podSet=text("Of a workload with several pod sets: of which one."),
            refused=text("Why the flavor is not eligible."),
        ),
    ),
    leaderlessSince=moment(
        "When the last reconciler led; absent while one leads. Until one does, nothing starts or stops."
    ),
    remedies=each("What would let it start.", _REMEDY),
    remediesTried=flag("Whether these were searched for: not in a list, and not if that took too long."),
    startsAt=moment("When it starts if nothing is done; absent if it does not."),
    forecast=_FORECAST,
    behind=members(
        "The head of its queue that it waits behind.",
        workload=text("The workload; absent for one of another namespace."),
        group=text("Its group."),
    ),
    order=members(
        "What gives it its place, where the order of its group is by namespace or user.",
        by=text("Namespace or User."),
        resource=text("The resource of which the largest part of the capacity was used."),
        requesters=each(
            "Its own namespace or user; others are not shown here.",
            members(
                "One namespace or user.",
                name=text("Its name."),
                amount=whole("Decayed past use, and six minutes of what is used now: base units times milliseconds."),
                weight=whole("Its weight, in thousandths."),
            ),
        ),
    ),
    priority=members(
        "Its priority; absent where nothing gives it one.",
        value=whole("The number: the highest of a group comes first."),
        **{"from": text("What gives it, such as a PriorityClass.")},
    ),
    evictions=whole("How often it was evicted."),
    admission={
        "type": "object",
        "description": "Of a running workload: since when, in which flavors, on which ground.",
        "x-kubernetes-preserve-unknown-fields": True,
    },
    lastEviction={
        "type": "object",
        "description": "The latest eviction: why, when, by which rule.",
        "x-kubernetes-preserve-unknown-fields": True,
    },
    **_SEEN,
)
GROUP_STATUS: Final = members(
    "The numbers of one group, step by step, and what waits below it.",
    parent=text("Its parent."),
    pending=whole("Workloads that wait, in the group and below."),
    admitted=whole("Admitted workloads, in the group and below."),
    used=text("What is used of each key."),
    runtime=text("What the group may use now of each key."),
    pastUse=each(
        "What the group has used in the past, the recent past most, as the decider knows it.",
        members(
            "Of one key.",
            flavor=text("The flavor."),
            resource=text("The resource."),
            amount=text("In base units times milliseconds, a whole number."),
        ),
    ),
    amended=text("The overrides and windows in force, with their ends, or which is next; absent: none ever again."),
    budgets=each(
        "The group's own budgets, as its status has them. Absent in lists.",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ),
    division=each(
        "How the runtime of its parent is divided, for each key; the shares of all children add up. Absent in lists.",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ),
    **_SEEN,
)
_EFFECT: Final = members(
    "Workloads of one group, without their names.",
    group=text("The group."),
    workloads=whole("How many."),
    restarts=whole("How many of those that stop would start again."),
    reason=text("Why they would stop or wait."),
    request={
        "type": "object",
        "description": "What they request together, in base units.",
        "additionalProperties": {"type": "integer", "format": "int64"},
    },
)
WHAT_IF_STATUS: Final = members(
    "What the edit would change, if nothing else changed and nothing finished meanwhile.",
    start=each("What would start.", _EFFECT),
    stop=each("What would stop.", _EFFECT),
    wait=each("What would go on waiting, and would have started.", _EFFECT),
    depends=each(
        "What would run or not, depending on which of the evicted workloads end first; absent: not computed in time.",
        _EFFECT,
    ),
    runtime=each(
        "The runtimes that would change.",
        members(
            "A runtime.",
            group=text("The group."),
            flavor=text("The flavor."),
            resource=text("The resource."),
            before=whole("Without the edit, in base units."),
            after=whole("With the edit, in base units."),
        ),
    ),
    stable=flag("Whether the cluster would come to rest, so that this is the end."),
    lines=each("The same in sentences: at most ten.", text("A sentence.")),
    **_SEEN,
)
START_PREVIEW_STATUS: Final = members(
    "What would become of the workloads, if nothing else came or ended meanwhile.",
    workloads=each(
        "Each of them.",
        members(
            "The members of an Explanation, of a workload that is not there yet.",
            workload=text("NAMESPACE/NAME."),
            kind=_KIND,
            starts=text(
                "Now, Soon (when what it waits for has ended), WithLeader (as soon as a reconciler leads), Later "
                "(at startsAt) or Never; absent: not tried."
            ),
            evicts=each("What would be stopped for it, by group.", _EFFECT),
            remedies=each("What its owner could write for it to start.", _REMEDY),
        )
        | {"x-kubernetes-preserve-unknown-fields": True},
    ),
    lines=each("The same in sentences.", text("A sentence.")),
    **_SEEN,
)
