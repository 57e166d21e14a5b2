"""matplotlib is imported whatever the environment says of windows."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("window", ["module://matplotlib_inline.backend_inline", "nonsense", "pdf"])
def test_figures_need_no_window(window):
    words = "import os; from privbandits_cli.figures.mpl import matplotlib; "
    words += "print(os.environ['MPLBACKEND'], matplotlib.rcParams._get_backend_or_none())"
    found = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, cwd=ROOT, env=os.environ | {"MPLBACKEND": window}
    )
    assert found.returncode == 0, found.stderr
    kept, chosen = found.stdout.split()
    assert kept == window and chosen == (window if window == "pdf" else chosen)
