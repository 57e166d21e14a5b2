"""Top two algorithms: a leader and a challenger, of which the leader is played in a fixed share of its turns.

An arm l that leads for the n-th time is played if it was played at most `share` n times as leader; otherwise its
challenger is played. The algorithm's file says which arm leads, and which one challenges it.
"""

from typing import Any

import numpy as np

from privbandits_cli.numerics.jit import Record


def tracking(n_arms: int, share: float) -> dict[str, Any]:
    """The fields of the state."""
    return {
        "share": share,
        "leads": np.zeros(n_arms),  # L, how often an arm led
        "follows": np.zeros(n_arms),  # how often it was played then
    }


def recommend(state: Record) -> int:
    """The arm with the largest mean: the answer, also of a game that has not ended."""
    return int(np.argmax(state.means))


def leader_plays(state: Record, leader: int) -> bool:
    """Count a turn of this leader. Returns whether the leader is played; otherwise its challenger is."""
    state.leads[leader] += 1.0
    if state.follows[leader] > state.share * state.leads[leader]:
        return False
    state.follows[leader] += 1.0
    return True
