"""All mutants, by game."""

from tests.audit import bandit_mutants, best_arm_mutants, contextual_mutants, linear_mutants
from tests.audit.patches import Mutant, with_field
from tests.audit.subjects import CORRECT

__all__ = ["CORRECT", "MUTANTS", "Mutant", "with_field"]

MUTANTS = (
    *bandit_mutants.MUTANTS,
    *best_arm_mutants.MUTANTS,
    *linear_mutants.MUTANTS,
    *contextual_mutants.MUTANTS,
)
