"""`python -m privbandits_cli` is the command `privbandits`."""

from privbandits_cli.cli import main

main()
