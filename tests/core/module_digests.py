"""Digests of some 6 000 generated modules, so that a change of a generator shows which texts it changes.

    python tests/core/module_digests.py          says which modules changed
    python tests/core/module_digests.py --write  accepts the present texts

A line of `module_digests.txt` is a model with a schedule, and a digest for each form of its module, in the order of
`forms`. Only text is generated; nothing is compiled.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import tdlambda as td
from tdlambda.core.model import Model
from tdlambda.core.schedules import lanes, lazy, one
from tdlambda.lab.reproduction.declarations import PublishedGreedy, PublishedMeta, PublishedTrueOnlineGTD

FILE = Path(__file__).with_suffix(".txt")
VERSION = f"Python {sys.version_info.major}.{sys.version_info.minor}"
"""`ast.unparse` may write the same function differently in another version, so digests belong to one."""
STEP_SIZES = ("Swift", "Autostep", "TIDBD", "ObGD", "Implicit", "Intentional", "AdaGrad")
RULES: dict[str, Callable[[], Any]] = {
    "given": lambda: 0.8,
    "meta": lambda: td.rules.Meta(kappa=0.01),
    "meta-thesis": lambda: td.rules.Meta.thesis(1e-3),
    "meta-episode": lambda: td.rules.Meta(kappa=0.01, horizon="episode"),
    "meta-horizon": lambda: td.rules.Meta(kappa=0.01, horizon=3),
    "meta-corrected": lambda: td.rules.Meta(kappa=0.01, of="corrected"),
    "greedy": td.rules.Greedy,
    "greedy-vtd": lambda: td.rules.Greedy("vtd"),
    "value-error": td.rules.ValueErrorGreedy,
    "auto": td.rules.LambdaMixture,
    "published-meta": lambda: PublishedMeta(kappa=0.01),
    "published-greedy": PublishedGreedy,
}


def learners() -> dict[str, Callable[[Any, Any], Any]]:
    """Name → a function from features and λ to a learner, for every algorithm, each of its forms and step sizes."""
    found: dict[str, Callable[[Any, Any], Any]] = {}

    def add(name: str, kind: Any, **options: Any) -> None:
        given = {"alpha": 0.02, "on_divergence": "flag"} | options
        found[name] = lambda features, lam: kind(features, lam=lam, **given)

    add("TD", td.TD)
    add("TD-replacing", td.TD, traces="replacing")
    add("TD-dutch", td.TD, traces="dutch")
    add("TrueOnlineTD", td.TrueOnlineTD)
    for gradient in ("GTD", "GTD2", "TDRC", "HTD", "TrueOnlineGTD", "PGTD2"):
        kind = getattr(td, gradient)
        add(gradient, kind, **({"beta": 0.01} if "beta" in kind.number_names() else {}))
    for gradient in ("GTD", "GTD2"):
        add(f"{gradient}-gradient", getattr(td, gradient), beta=0.01, form="gradient")
    add("Published", PublishedTrueOnlineGTD, beta=0.01)
    for other in ("ETD", "TrueOnlineETD", "DirectVTD", "VTD", "DifferentialTD"):
        add(other, getattr(td, other))
    add("TrueOnlineTD-1/steps", td.TrueOnlineTD, alpha=td.steps.OneOver("steps"))
    add("TrueOnlineTD-1/visits", td.TrueOnlineTD, alpha=td.steps.OneOver("visits"))
    add("TrueOnlineTD-centred", td.TrueOnlineTD, centering=0.1)
    add("TrueOnlineTD-retrace", td.TrueOnlineTD, correction="retrace")
    for step in STEP_SIZES:
        for kind in (td.TrueOnlineTD, td.TD):
            try:
                kind(td.features.OneHot(2), alpha=getattr(td.steps, step)())
            except (TypeError, ValueError):
                continue  # a step size for the other one only
            add(f"{kind.__name__}-{step}", kind, alpha=getattr(td.steps, step)())
    return found


def models() -> Iterator[tuple[str, Model]]:
    """The models, by name; a rule that an algorithm cannot have is left out."""
    features = td.features.OneHot(5)
    for name, make in learners().items():
        for rule, lam in RULES.items():
            try:
                yield f"{name} {rule}", make(features, lam()).model
            except (TypeError, ValueError):
                continue


def forms(model: Model) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """(schedule, form, function that generates the text) of each module of a model."""
    same = (model.algorithm, model.rule, model.sizes_by)
    variants = {"": model, "corrected": Model(*same, corrected=True), "mixed": Model(*same, mixed=True)}
    for how, variant in variants.items():
        for sparse in (True,) if one.always_sparse(variant) else (False, True):
            yield "one", f"{'sparse' if sparse else 'dense'} {how}", partial(one.generate, variant, sparse)
        for binary in (True, False) if lazy.possible(variant) else ():
            yield "lazy", f"{'binary' if binary else 'any'} {how}", partial(lazy.generate, variant, binary)
    ways: list[tuple[bool, bool, tuple[str, ...], bool]] = [
        *((h, z, (), True) for h in (True, False) for z in (True, False) if model.rule is not None or z == h),
        *((h, h, p, True) for h in (True, False) for p in (("reward",), ("reward", "gamma_next", "rho"))),
        *((h, h, (), False) for h in (True, False)),
    ]
    apart = Model(*same, model.independent(), model.corrected) if model.independent() else None
    given = [(model, way) for way in ways] + ([(apart, way) for way in ways[:2]] if apart is not None else [])
    for variant, (hot, hot_z, per_lane, bounded) in given:
        words = ["one-hot" if hot else "active", "z" if hot_z else "zs", *per_lane]
        words += ([] if bounded else ["unbounded"]) + [f"without {k}" for k in variant.apart]
        yield "lanes", " ".join(words), partial(lanes.generate, variant, hot, hot_z, per_lane, bounded)


def encoded() -> Iterator[tuple[str, Model, Any]]:
    """Learners whose modules contain the compiled form of an encoder."""
    features: Any
    for features in (td.features.Dense(4), td.features.TileCoder([0, 0], [1, 1])):
        yield type(features).__name__, td.TrueOnlineTD(features, 0.1).model, features.kernel.encode


@cache
def digests(every: int = 1) -> dict[str, dict[str, str]]:
    """Model and schedule → form → digest, of every n-th model."""
    found: dict[str, dict[str, str]] = {}
    for number, (name, model) in enumerate(models()):
        if number % every == 0:
            for schedule, form, text in forms(model):
                found.setdefault(f"{schedule} {name}", {})[form.strip()] = _digest(text())
    for name, model, encode in encoded():
        found[f"one {name}"] = {"vectors": _digest(one.generate(model, False, encode))}
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def stored() -> tuple[str, dict[str, list[str]]]:
    """The version of Python in the file, and each line's digests."""
    first, *lines = FILE.read_text(encoding="utf-8").splitlines()
    return first, {name: given.split() for name, _, given in (line.partition(": ") for line in lines)}


def changed(every: int = 1) -> list[str]:
    """The modules whose text is not the stored one."""
    _, known = stored()
    found = []
    for name, each in digests(every).items():
        old = known.get(name)
        if old is None or len(old) != len(each):
            found.append(f"{name}: {'not in the file' if old is None else f'{len(old)} forms stored, now {len(each)}'}")
            continue
        found += [f"{name}, {form}" for (form, new), was in zip(each.items(), old, strict=True) if new != was]
    gone = set(known) - set(digests()) if every == 1 else set()
    return found + [f"{name}: no longer generated" for name in sorted(gone)]


def write() -> None:
    """Store the digests of the present texts."""
    lines = [VERSION, *(f"{name}: {' '.join(each.values())}" for name, each in digests().items())]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Compare, or store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store the digests of the present texts")
    if parser.parse_args().write:
        write()
    found = changed()
    print("\n".join(found))
    print(f"{sum(map(len, digests().values()))} modules, {len(found)} changed")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
