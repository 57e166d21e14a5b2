"""DP-EXP3-Lap (Tossou & Dimitrakakis 2017, Algorithm 1): DP-Λ-Lap with EXP3 as its base.

Corollary 3.1 gives γ, b and the expected regret; Theorem 3.2 proves ε-differential privacy. Figure 1 of the paper uses
the ε of Corollary 3.2, which is 243.3 for K = 4 and T = 2^18: the noise has scale 0.004, which is negligible.
"""

from typing import Annotated, Literal

from pydantic import Field

from privbandits_cli.algorithms import dp_lambda_lap, exp3
from privbandits_cli.games.parameters import Or, left_out


class Parameters(dp_lambda_lap.Parameters):
    """ε; EXP3's own parameters are under `base`."""

    read = "paper"
    display = "DP-EXP3-Lap"

    epsilon: Annotated[float, Field(ge=1e-9), Or(Literal["corollary_3.2"])] = left_out(
        "ε; `corollary_3.2` is the paper's 28 K ln K + √(112 K ln K ln T)", word="corollary_3.2"
    )
    base: exp3.Parameters = Field(exp3.Parameters(), description="EXP3 and its γ")
