"""For researchers: declare an algorithm and compare it with another on the same trajectories.

python examples/researcher.py
"""

# %% [markdown]
# # Does a gradient correction help off-policy?
#
# We declare TDRC(λ) (Ghiassian et al. 2020): its weights and traces, its dot products, its update equations, and a
# scalar `step`. From this declaration the library compiles code for a single learner and for hundreds at once.

# %%
import tdlambda as td


class MyTDRC(td.Algorithm):
    """TDRC(λ): TD with a regularised gradient correction."""

    weight_rows, trace_rows = "w h", "e"
    parameters, pull = "pull", 1.0
    dots = {"v": "w.x", "v_next": "w.x'", "hx": "h.x", "eh": "e.h"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e + correct x'
        h  = shrink h + along e + back x
    """

    @staticmethod
    def step(v, v_next, hx, eh, decay, pull, alpha, reward, gamma_next, rho, lam_next):
        """The coefficients of the update equations for one transition."""
        keep = rho * decay
        along = alpha * (reward + gamma_next * v_next - v)
        correct = -alpha * gamma_next * (1 - lam_next) * (keep * eh + rho * hx)
        shrink, back = 1 - alpha * pull, -alpha * hx
        decay = gamma_next * lam_next
        return keep, along, correct, shrink, back, decay


# %% [markdown]
# The task is a random MDP, off-policy, with 12 binary features for 30 states. All learners see the same trajectory for
# each seed, so we can compare them run by run. We select the step size on seeds 0 to 9 and report on the other 20.

# %%
task = td.make("Garnet-v0", seed=7, features=12)
alphas = (0.0003, 0.001, 0.003, 0.01)
kinds = {"TD": td.TD, "MyTDRC": MyTDRC}
learners = {f"{name} {alpha}": kind(task.features, alpha, 0.5) for name, kind in kinds.items() for alpha in alphas}
result = td.engine.run(task, learners, seeds=30, steps=20_000, score="rmsve", progress=False)
tail = result.tail()  # mean error over the last tenth, [learner, seed]

reported = {}
for k, name in enumerate(kinds):
    own = tail[len(alphas) * k : len(alphas) * (k + 1)]
    chosen, reported[name] = td.studies.choose(own, tuning=range(10))
    cell = td.studies.summary(reported[name])
    print(f"{name}: α = {alphas[chosen]}, error {cell.mean:.3f} ({cell.low:.3f} to {cell.high:.3f})")
pair = td.studies.compare(reported["MyTDRC"], reported["TD"])
print(f"MyTDRC over TD, paired: {pair.ratio:.2f} ({pair.ratio_low:.2f} to {pair.ratio_high:.2f})")

# %% [markdown]
# To test your declaration, run `td.check_algorithm(MyTDRC)`: it compares all generated code with an interpreter of the
# declaration. To store runs, resume them and make a report, declare a study: `td.studies.Study`, `tdlambda run`.
