"""The moments of a return as TD problems: the reward and discount with which each is learned.

J = E[G^λ] is the mean of the λ-return that bootstraps from V; with λ = 1 it is E[G]. With δᴶ the error of J,

    δᴶ  = r' + γ' [ (1-λ') V(x') + λ' J(x') ] - J(x)
    J:     reward r' + γ' (1-λ') V(x'),          discount γ'λ'
    Var:   reward δᴶ²,                           discount (γ'λ')²        direct VTD (Sherstan et al. 2018)
    E[G²]: reward Ḡ² + 2 γ'λ' Ḡ J(x'),           discount (γ'λ')²        VTD (White & White 2016); Ḡ the reward of J

These are moments under the target policy, corrected by ρ like any value. For the importance-corrected return
ρ (r' + γ' [...]) ("corrected"), the variance has reward (ρ δᴶ + (ρ-1) J(x))², the second moment has ρ² times its
reward, and both have discount (ρ γ'λ')². They are expectations under the behaviour policy and need no further
correction.
"""

# Plain functions of numbers: their source is copied into generated modules.


def direct_square(delta: float, j: float, rho: float, corrected: bool) -> float:
    """The reward of the variance: δᴶ², or (ρ δᴶ + (ρ-1) J)²."""
    return (rho * delta + (rho - 1) * j) ** 2 if corrected else delta**2


def of_mean(v_next: float, lam_next: float, reward: float, gamma_next: float) -> tuple[float, float]:
    """Reward and discount of J."""
    return reward + gamma_next * (1 - lam_next) * v_next, gamma_next * lam_next


def of_variance(ahead: float, kept: float, j: float, j_next: float, rho: float, corrected: bool) -> tuple[float, float]:
    """Reward and discount of the variance, from J's reward and discount."""
    square = direct_square(ahead + kept * j_next - j, j, rho, corrected)
    return square, (rho * kept) ** 2 if corrected else kept**2


def of_second_moment(ahead: float, kept: float, j_next: float, rho: float, corrected: bool) -> tuple[float, float]:
    """Reward and discount of E[G²], from J's reward and discount."""
    square, weight = ahead**2 + 2 * kept * ahead * j_next, rho**2 if corrected else 1.0
    return weight * square, weight * kept**2
