"""See λ fall from 1 as V becomes trustworthy: RingWorld, true online TD, META beside it. About ten seconds.

    python examples/watch_lambda.py [--alpha 0.01] [--kappa 0.001]

Each line is a moment of one run: the mean λ over states as a bar, the error of V against the truth, λ of each state.
"""

import argparse

import tdlambda as td
from tdlambda.cli.output import console


def main() -> None:
    """Learn, and look in from time to time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alpha", type=float, default=0.01, help="step size of the value")
    parser.add_argument("--kappa", type=float, default=1e-3, help="step size of λ")
    options = parser.parse_args()
    ring = td.make("RingWorld-v0")
    v = td.TrueOnlineTD(ring.features, options.alpha, td.Meta(options.kappa))
    sampler, states = ring.sampler(seed=1), range(1, 10)
    console.print("   steps  mean λ                  error  λ of states 1 to 9")
    for wanted in (0, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000):
        v.update_many(sampler.take(wanted - v.steps))
        lams = v.lambdas(states)
        error = ring.mdp.value_error(v.predict_many(range(11)), ring.target, half=False)
        bar = "█" * round(12 * lams.mean())
        shown = " ".join(f"{lam:.1f}" for lam in lams)
        console.print(f"{wanted:>8}  {lams.mean():.2f} {bar:<12} {error:>9.6f}  {shown}")


if __name__ == "__main__":
    main()
