"""What is kept once for many Jobs."""

import gc
from weakref import ref

from shared.api.core.job import Job, JobSpec, read_job
from shared.api.core.limitrange import ContainerDefaults
from shared.cluster.state.observed.interning import Interned, InternedRequests
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.settings import QuotaSettings

SETTINGS = QuotaSettings()


def a_job(cpu: str | int | None = "2") -> Job:
    resources = {} if cpu is None else {"requests": {"cpu": cpu}}
    return read_job({"spec": {"template": {"spec": {"containers": [{"name": "a", "resources": resources}]}}}})


def test_equal_specs_share_one_object_until_their_last_record_goes() -> None:
    interned = Interned[JobSpec]()
    first, second = (interned.shared(a_job().spec) for _ in range(2))
    assert first is second
    assert interned.shared(a_job("3").spec) is not first
    gone = ref(first)
    del first, second
    gc.collect()
    assert gone() is None


def test_quantity_number_and_equal_text_stay_distinct() -> None:
    interned = Interned[JobSpec]()
    text, number = interned.shared(a_job("2").spec), interned.shared(a_job(2).spec)
    assert text != number
    assert (text, number) == (a_job("2").spec, a_job(2).spec)


def test_request_is_computed_once_per_spec_and_context() -> None:
    requests, spec = InternedRequests(), a_job(None).spec.template.spec
    small, large = (NamespaceContext(limits=ContainerDefaults(requests={"cpu": cpu})) for cpu in ("1", "2"))
    found = requests.of(spec, small, SETTINGS)
    assert found == {"cpu": 1000}
    assert requests.of(spec, small, SETTINGS) is found
    assert requests.of(spec, large, SETTINGS) == {"cpu": 2000}


def test_requests_of_claims_are_read_each_time() -> None:
    requests = InternedRequests()
    claim = {"name": "gpu", "resourceClaimTemplateName": "one"}
    pod = {"containers": [{"name": "a"}], "resourceClaims": [claim]}
    spec = read_job({"spec": {"template": {"spec": pod}}}).spec.template.spec
    around = NamespaceContext()
    assert requests.of(spec, around, SETTINGS) is not requests.of(spec, around, SETTINGS)
