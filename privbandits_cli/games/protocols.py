"""The games by name."""

from privbandits_cli.games import bandit, contextual, linear

GAMES = {"bandit": bandit, "linear": linear, "contextual": contextual}
