"""Watch META lower λ from 1 as V becomes accurate, on RingWorld with true online TD. Takes about ten seconds.

    python examples/watch_lambda.py [--alpha 0.01] [--kappa 0.001] [--plot watch.svg]

Each line is a snapshot of one run: the mean λ over states as a bar, the value error, and λ of each state.
"""

import argparse

import tdlambda as td

MOMENTS = (0, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def main() -> None:
    """Learn, and print snapshots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alpha", type=float, default=0.01, help="step size of the value")
    parser.add_argument("--kappa", type=float, default=1e-3, help="step size of λ")
    parser.add_argument("--plot", metavar="FILE", help="also plot the run, with META's statistics")
    options = parser.parse_args()
    ring = td.make("RingWorld-v0")
    v = td.TrueOnlineTD(ring.features, options.alpha, td.rules.Meta(options.kappa))
    history = td.report.follow(ring, v, MOMENTS[-1], MOMENTS, seed=1)
    print("   steps  mean λ                  error  λ of states 1 to 9")
    for steps, lams, error in zip(history.steps, history.lambdas[:, 1:10], history.error, strict=True):
        shown = " ".join(f"{lam:.1f}" for lam in lams)
        print(f"{steps:>8}  {lams.mean():.2f} {'█' * round(12 * lams.mean()):<12} {error:>9.6f}  {shown}")
    if options.plot:
        history.plot(options.plot)
        print(f"The figure is in {options.plot}")


if __name__ == "__main__":
    main()
