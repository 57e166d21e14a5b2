"""How many processes may run the tests at once: one a core, as far as there is memory for them."""

from pathlib import Path, PurePosixPath

WORKER = 1.5e9  # bytes: what one process needs for the tests of `make test`
GROUPS = {  # of each version of control groups: their folder; files of the limit and of what is used; a part of it
    2: ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    1: ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def workers(cores, free):
    """At least one; where the free bytes are not known (None), one a core."""
    return cores if free is None else max(1, min(cores, int(free // WORKER)))


def free_memory(root=Path("/")):
    """The least of the bytes that the system has left and that a control group leaves to its processes, or None."""
    return min((*_system(root), *_groups(root)), default=None)


def _system(root):
    for line in _lines(root / "proc" / "meminfo"):
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])


def _groups(root):
    """What the groups of this process leave, and the groups around them; cached files make room."""
    for line in _lines(root / "proc" / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        folder, limit, used, cached = GROUPS[1 if controllers else 2]
        inner = PurePosixPath(path.lstrip("/"))
        for group in (root / folder / name for name in (inner, *inner.parents)):
            sizes = [int(text) for file in (limit, used) for text in _lines(group / file)[:1] if text.isdecimal()]
            parts = dict(line.split() for line in _lines(group / "memory.stat"))
            if len(sizes) == 2:  # a group without a limit has the word `max`
                yield max(0, sizes[0] - sizes[1] + int(parts.get(cached, 0)))


def _lines(path):
    """The lines of a file; none if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
