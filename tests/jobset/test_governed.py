"""JobSets governed by the preset, with their real operator: held, started, reclaimed and started elsewhere."""

import pytest

from tests import operated_stories
from tests.operated_stories import Governed

pytestmark = pytest.mark.timeout(300)


def test_each_replicated_job_starts_on_its_own_flavor(governed_jobsets: Governed) -> None:
    operated_stories.starts_each_pod_set_on_its_flavor(governed_jobsets, "jobset-flavors", "Completed")


def test_jobset_is_reclaimed_whole_and_starts_on_another_flavor(governed_jobsets: Governed) -> None:
    operated_stories.is_reclaimed_whole_and_starts_on_another_flavor(governed_jobsets, "jobset-reclaimed")
