"""privbandits: the figures of the differentially private bandit literature, reproduced."""

__version__ = "0.1.0"
