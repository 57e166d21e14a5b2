"""How many processes run the tests."""

import pytest

from tests.workers import WORKER, free_memory, workers


@pytest.mark.parametrize(
    ("cores", "gigabytes", "number"),
    [(2, 64, 2), (8, 6, 4), (8, 5.9, 3), (2, 1, 1), (64, 0, 1), (4, None, 4), (1, None, 1)],
)
def test_there_are_as_many_as_cores_and_memory_allow(cores, gigabytes, number):
    assert workers(cores, None if gigabytes is None else gigabytes * 1e9) == number and WORKER == 1.5e9


def machine(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return free_memory(root)


def test_free_memory_is_what_the_machine_and_its_groups_leave(tmp_path):
    memory = {"proc/meminfo": "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    8000 kB\n"}
    assert machine(tmp_path / "none", {}) is None
    assert machine(tmp_path / "plain", memory) == 8000 * 1024
    second = memory | {
        "proc/self/cgroup": "0::/job/step\n",
        "sys/fs/cgroup/job/step/memory.max": "max\n",
        "sys/fs/cgroup/job/step/memory.current": "100\n",
        "sys/fs/cgroup/job/memory.max": "5000\n",
        "sys/fs/cgroup/job/memory.current": "4000\n",
    }
    assert machine(tmp_path / "second", second) == 1000  # of the group around
    cached = second | {"sys/fs/cgroup/job/memory.stat": "active_file 5\ninactive_file 700\n"}
    assert machine(tmp_path / "cached", cached) == 1700
    first = memory | {
        "proc/self/cgroup": "3:cpu:/x\n2:memory,hugetlb:/elsewhere\n",  # in a container the path may be the host's
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "3000\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "3500\n",
    }
    assert machine(tmp_path / "first", first) == 0
