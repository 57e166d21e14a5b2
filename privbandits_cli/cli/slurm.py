"""`slurm`: a script that runs an experiment on a Slurm cluster."""

import shlex
from pathlib import Path

from privbandits_cli.cli.app import app
from privbandits_cli.cli.include import announced
from privbandits_cli.cli.options import Config, Include, Overrides, Smoke


@app.command()
def slurm(
    config: Config,
    overrides: Overrides = None,
    smoke: Smoke = False,
    include: Include = None,
) -> None:
    """Print a script that runs an experiment on a Slurm cluster.

    Run on the login node, the script submits an array of shards and a job that merges them. With the argument `dask`
    it submits one job with a Dask scheduler, its workers and the client. Adjust the values at the top of the
    script to your cluster.

    \b
    Examples:
      privbandits slurm fig1 > fig1.sh
      bash fig1.sh
      bash fig1.sh dask
    """
    from privbandits_cli.experiment.config import load

    experiment = load(config, overrides, smoke, include or (), admit=announced())
    trust = " --trust" if experiment.needs_files else ""
    words = [config.as_posix(), *(overrides or []), *(["--smoke"] if smoke else [])]
    words += [word for file in include or () for word in ("--include", file.as_posix())]
    script = Path(__file__).with_name("slurm.sh").read_text(encoding="utf-8")
    print(
        script.replace("@NAME@", experiment.keys.experiment)
        .replace("@WORDS@", shlex.join(words))
        .replace("@TRUST@", trust),
        end="",
    )
