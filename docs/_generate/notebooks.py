"""The environment of the tutorials: the command `privbandits`, and cells that fail if a command of theirs fails."""

import os
import sys
import tempfile
from pathlib import Path

# Run by IPython before the first cell. Claims that fail (3) and violations that an audit finds (4) are results.
STARTUP = """\
shell = get_ipython()
plainly = shell.system

def system(command):
    plainly(command)
    code = shell.user_ns["_exit_code"]
    if code not in (0, 3, 4):
        raise RuntimeError(f"{command}: exit code {code}")

shell.system = system
"""


def prepare() -> None:
    """Give the kernels, which inherit this process's environment, the commands of this Python and the startup code."""
    folder = Path(tempfile.mkdtemp(prefix="privbandits-docs-"))
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00-strict.py").write_text(STARTUP, encoding="utf-8")
    # A kernel on this machine need not warn that others could listen.
    (startup.parent / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n", encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(folder)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
