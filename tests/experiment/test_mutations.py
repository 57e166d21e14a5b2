"""Mutated configs are valid, or have errors with places: nothing else ever comes out of `validate`."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.experiment.mutations import mutant

JUDGE = """
import json, re, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_DATA, (2**30, 2**30))  # bytes
from typer.testing import CliRunner
from privbandits_cli.cli import app
from tests.experiment.mutations import mutant

PLACED = re.compile(r"m\\.yaml:(\\d+:\\d+: |.* cannot be read: |.* and [\\d,]+ more errors)|[^ ]+: ")
for seed in range(int(sys.argv[1]), int(sys.argv[2])):
    Path("m.yaml").write_bytes(mutant(seed))
    found = CliRunner().invoke(app, ["validate", "m.yaml", "--json"])
    errors = json.loads(found.stdout)["m.yaml"] if found.exit_code in (0, 2) and found.stdout else []
    good = bool(errors) == (found.exit_code == 2) and all(map(PLACED.match, errors)) and found.exit_code in (0, 2)
    print(json.dumps([seed, found.exit_code, good, found.output[-2000:] if not good else "", repr(found.exception)]))
"""


def judged(first, last, tmp_path, seconds):
    """What `validate` said about mutants, in a process with 1 GB of memory; a hang is a TimeoutExpired."""
    command = [sys.executable, "-c", JUDGE, str(first), str(last)]
    path = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=path, timeout=seconds, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == last - first, f"mutant {first + len(found)} ended the process: {done.stderr[-2000:]}"
    return found


def test_mutated_configs_are_valid_or_have_errors_with_places(tmp_path):
    found = judged(0, 40, tmp_path, seconds=600)
    assert [row for row in found if not row[2]] == []
    codes = [row[1] for row in found]
    assert codes.count(0) > 1 and codes.count(2) > 20


@pytest.mark.slow
@pytest.mark.parametrize(("first", "last"), [(24, 200), *((1000 + 250 * i, 1250 + 250 * i) for i in range(10))])
def test_thousands_of_mutated_configs(first, last, tmp_path):
    found = judged(first, last, tmp_path, seconds=1800)
    assert [row for row in found if not row[2]] == []


def test_mutants_follow_from_their_seeds():
    assert mutant(3) == mutant(3) != mutant(4)
