"""A leader of noisy sums whose noise is any matrix times the numbers of the first round."""

import numpy as np

from privbandits_cli.accounting.guarantee import Guarantee
from privbandits_cli.games import linear, views
from privbandits_cli.games.linear import Draws, Setting
from privbandits_cli.numerics.jit import record


class Parameters(linear.Algorithm):
    """The rows of the matrix, one for each round, and the privacy that is claimed."""

    display = "Leader by a matrix"
    private = True
    rows: tuple[tuple[float, ...], ...] = ()
    gaussian: bool = False
    epsilon: float = 1.0
    delta: float = 0.0

    def state(self, setting: Setting):
        n = setting.n_arms
        matrix = np.repeat(np.array(self.rows)[:, :, None], n, axis=2)
        return record(t=0, matrix=matrix, z=np.zeros(matrix.shape[1:]), sums=np.zeros(n), noisy=np.zeros(n))

    def draws(self, setting, rounds):
        many = np.where(rounds == 1, len(self.rows[0]) * setting.n_arms, 0)
        return {"normal" if self.gaussian else "laplace": many}

    def bounds(self, setting, delta, sensitivity=1.0):
        return [Guarantee(self.epsilon * sensitivity, self.delta, "its matrix", "proved", view="all noisy sums")]

    def view(self, setting):
        return views.Noisy("noisy")


def choose(state, x: np.ndarray, rng: Draws) -> None:
    if state.t == 0:
        numbers = rng.normal if len(rng.normal) else rng.laplace
        state.z[:] = numbers.reshape(state.z.shape)
    state.noisy[:] = state.sums + (state.matrix[state.t] * state.z).sum(axis=0)
    x[:] = 0.0
    x[np.argmin(state.noisy)] = 1.0


def update(state, losses: np.ndarray, rng: Draws) -> None:
    state.sums += losses
    state.t += 1
