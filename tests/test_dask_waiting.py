"""A moment without any Dask worker is waited for, and no longer than it says."""

import re
import time

import distributed
import pytest

from structsvm.errors import SettingsError
from structsvm.parallel import Dask, cluster


def add(part, argument):
    return part + argument


@pytest.fixture
def workers():
    """A cluster in this process, without any worker yet."""
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, processes=False, dashboard_address=None
    ) as found:
        yield found


@pytest.fixture
def client(workers):
    with distributed.Client(workers, set_as_default=False) as found:
        yield found


def test_a_cluster_that_is_about_to_have_a_worker(workers, client):
    client.loop.add_callback(client.loop.call_later, 0.5, workers.scale, 1)
    with Dask(client).open([1, 2]) as session:
        assert session.map(add, 1) == [2, 3]


def test_a_moment_without_any_worker(workers, client):
    workers.scale(1)
    with Dask(client).open([1, 2]) as session:
        assert session.map(add, 1) == [2, 3]
        client.retire_workers(list(client.nthreads()), close_workers=True)
        workers.scale(0)
        client.loop.add_callback(client.loop.call_later, 1.0, workers.scale, 1)
        assert session.map(add, 2) == [3, 4]


def test_no_worker_comes(workers, client, monkeypatch):
    monkeypatch.setattr(cluster, "WAIT", 0.5)
    started = time.monotonic()
    message = "has no workers, and had none for 0.5 seconds"
    with (
        pytest.raises(SettingsError, match=re.escape(message)),
        Dask(client).open([1, 2]),
    ):
        pass
    workers.scale(1)
    assert time.monotonic() < started + 60


def test_clients_that_cannot_be_asked(workers, client):
    with distributed.Client(workers, set_as_default=False) as closed:
        pass

    async def complaint():
        return refused(client)

    def refused(one):
        with pytest.raises(SettingsError) as caught, Dask(one).open([1, 2]):
            pass
        return str(caught.value)

    assert "is closed: make one that is open" in refused(closed)
    assert "is a str: make one that is open" in refused("tcp://a:1")
    assert "is asynchronous: make one that is open" in client.sync(complaint)


def test_a_task_does_not_wait_for_its_own_thread(workers, client):
    """The only thread of the cluster, which a task learns in, does the work of the task as well."""

    def learn():
        with Dask().open([1, 2]) as session:
            return session.map(add, 1)

    workers.scale(1)
    assert client.submit(learn).result(30) == [2, 3]
