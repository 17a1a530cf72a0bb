"""Hostile calls to every learner.

A call succeeds and leaves the learner finite (or says that it diverged), or it raises TypeError, ValueError or
`td.Diverged` with a message that names an argument; what was refused has changed nothing, bit for bit. What is only
laid out oddly is learned as its plain form is. Columns and learners' states border on pages without access, so that a
read or a write outside them ends the process, which counts as a failure.
"""

from __future__ import annotations

import pickle
import re
import reprlib
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tdlambda as td
from attacks import extremes, hostile, junk
from attacks.guards import guarded
from attacks.harness import Attack, Failed, Say
from attacks.hostile import ANY, EITHER, SAME, WRONG, Given
from attacks.judging import brief, judge, require_named
from attacks.liars import ENCODINGS, Liar
from attacks.subjects import OTHERS, PLAIN, RNG, TRACES, WORLDS, Array, Subject, World, draw, guard, required

FIELDS = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")


def case(rng: RNG, say: Say) -> None:
    """One subject, some good steps, one or two hostile calls, and good steps again."""
    if rng.random() < 0.15:
        junk.parameters(rng, say)
        return
    if rng.random() < 0.05:
        in_the_engine(rng, say)
        return
    if rng.random() < 0.1:
        extremes.case(rng, say)
        return
    name, world, verdict, build = draw(rng)
    say(name)
    try:
        learner = build()
    except (TypeError, ValueError) as error:
        if verdict in (SAME, EITHER):
            raise Failed(f"refused to be built: {brief(error)}") from None
        require_named(error, "building it")
        return
    subject = Subject(name, learner, world, verdict)
    if verdict == SAME:
        good_steps(subject, rng)
        guard(learner, rng)
    for _ in range(int(rng.integers(1, 4))):
        calls = [update, query, copies] if subject.acts else [update, update, update_many, update_many, query, copies]
        calls[int(rng.integers(len(calls)))](subject, rng, say)
        if subject.diverged:
            return
    if verdict == SAME:
        good_steps(subject, rng)


def good_steps(subject: Subject, rng: RNG) -> None:
    """Steps that nobody can object to."""
    for t in range(int(rng.integers(6))):
        one = plain_step(subject, rng)
        try:
            subject.learner.update(**one, **({"terminated": True} if t == 3 else {}))
        except td.Diverged:
            return


def plain_step(subject: Subject, rng: RNG) -> dict[str, Any]:
    """The arguments of an update."""
    world, draw = subject.world, float(rng.integers(-8, 8)) / 4
    step = {"obs": world.one(rng), "reward": draw, "next_obs": world.one(rng), "gamma": 0.875, "rho": 1.125}
    return step | ({"action": int(rng.integers(2))} if subject.acts else {})


# ---- one transition -------------------------------------------------------------------------------------------


def update(subject: Subject, rng: RNG, say: Say) -> None:
    """`update` with some arguments in disguise."""
    plain = plain_step(subject, rng) | {"terminated": bool(rng.integers(2)), "truncated": bool(rng.integers(2))}
    given, verdict, changed = dict(plain), subject.verdict, []
    for name in chosen(subject, rng, list(plain)):
        given[name], own = argument(name, plain[name], subject.world, rng)
        if subject.acts and name == "rho" and given[name] is None:
            own = ANY  # an agent knows its own
        changed.append(f"{name}: {type(given[name]).__name__}")
        verdict = max(verdict, own)
    say(f"{subject.name}.update({_shown(given)}) [{verdict.name}]")
    judge(
        f"update({', '.join(changed)}){_liar(subject)}", subject, verdict,
        lambda one: one.update(**given), lambda one: one.update(**plain),
    )  # fmt: skip


def chosen(subject: Subject, rng: RNG, names: Sequence[str]) -> list[str]:
    """Which arguments to disguise: mostly one, and none where the subject itself is wrong."""
    count = 0 if subject.verdict != SAME else 1 + int(rng.random() < 0.2)
    return [str(name) for name in rng.choice(names, size=count, replace=False)]


def argument(name: str, plain: Any, world: World, rng: RNG) -> Given:
    """One argument of `update` in disguise."""
    if name in ("obs", "next_obs"):
        return world.disguised(rng, plain)
    if name in ("terminated", "truncated"):
        return hostile.flag(rng, plain)
    if name == "action":
        return hostile.state(rng, plain, 2)
    return hostile.number(rng, plain, *{"reward": (-np.inf, np.inf), "gamma": (0, 1), "rho": (0, np.inf)}[name])


# ---- many transitions -----------------------------------------------------------------------------------------

_BAD = {
    "reward": [(np.nan, WRONG), (np.inf, WRONG), (1e308, ANY), (-1e308, ANY), (5e-324, ANY), (1e200, ANY)],
    "gamma": [(np.nan, WRONG), (1.5, WRONG), (-1e-9, WRONG), (5e-324, ANY), (1.0, ANY)],
    "rho": [(np.nan, WRONG), (np.inf, WRONG), (-1.0, WRONG), (1e300, ANY), (0.0, ANY)],
    "terminated": [(2, WRONG), (0.5, WRONG), (np.nan, WRONG)],
    "truncated": [(2, WRONG), (0.5, WRONG), (np.nan, WRONG)],
}


def update_many(subject: Subject, rng: RNG, say: Say) -> None:
    """`update_many`, by columns, as `Transitions` or from a table, with some columns in disguise."""
    way = str(rng.choice(["update_many", "Transitions", "from_log"]))
    n = int(rng.choice([0, 2, 3, 7, 64]))
    plain = plain_columns(subject.world, rng, n)
    given, verdict, changed = (
        {k: guarded(v) for k, v in plain.items()},
        subject.verdict if n else min(subject.verdict, ANY),
        [],
    )
    for name in chosen(subject, rng, FIELDS) if n else ():
        if name in ("obs", "next_obs"):
            given[name], own = subject.world.spoiled(rng, plain[name])
        elif rng.integers(2):
            given[name], own = hostile.rows(rng, plain[name])
        else:
            given[name], own = hostile.spoiled(rng, plain[name], _BAD[name])
        if way == "Transitions":
            own = max(own, EITHER)
        changed.append(f"{name}: {_type(given[name])}")
        verdict = max(verdict, own)
    say(f"{subject.name}.{way}({_shown(given)}) [{verdict.name}]")

    def learn(one: Any) -> None:
        if way == "from_log":
            td.learners.learn_from_log(given, one)
        elif way == "Transitions":
            one.update_many(td.mdp.Transitions(action=np.zeros(n, dtype=np.int64), **given))
        else:
            one.update_many(**given)

    label = f"{way}({', '.join(changed)}){_liar(subject)}"
    judge(label, subject, verdict, learn, lambda one: one.update_many(**plain))


def plain_columns(world: World, rng: RNG, n: int) -> dict[str, Array]:
    """The arguments of `update_many`, in numbers that float32 has too."""
    flags: NDArray[np.bool_] = rng.random((2, n)) < 0.2
    return {
        "obs": world.many(rng, n), "reward": rng.integers(-8, 8, size=n) / 4, "next_obs": world.many(rng, n),
        "gamma": rng.integers(9, size=n) / 8, "rho": rng.integers(9, size=n) / 8,
        "terminated": flags[0], "truncated": flags[1],
    }  # fmt: skip


# ---- questions and copies -------------------------------------------------------------------------------------


def query(subject: Subject, rng: RNG, say: Say) -> None:
    """Ask for predictions or λ; nothing may change, and the answers are numbers."""
    one, world = subject.learner, subject.world
    single = ["act", "greedy", "policy_at"] if subject.acts else ["predict", "lambda_at"]
    many = [] if subject.acts else ["predict_many", *(name for name in ("lambdas", "estimates") if hasattr(one, name))]
    name = str(rng.choice([*single, *many]))
    if subject.verdict != SAME:
        given, verdict = (world.many(rng, 3) if name in many else world.one(rng)), ANY
    elif name in many:
        given, verdict = world.spoiled(rng, world.many(rng, 3), alone=True)
    else:
        given, verdict = world.disguised(rng, world.one(rng))
    extra = (np.random.default_rng(0),) if name == "act" else ()
    verdict = ANY if verdict != WRONG or "lam" in name else WRONG
    say(f"{subject.name}.{name}({given!r}) [{verdict.name}]")
    before, found = subject.state(), []

    def ask(one: Any) -> None:
        found.append(getattr(one, name)(given, *extra))

    judge(f"{name}({type(given).__name__}){_liar(subject)}", subject, verdict, ask)
    if subject.state() != before:
        raise Failed(f"{name}: a question changed the learner")
    if found and not np.isfinite(np.asarray(found[0], dtype=np.float64)).all() and verdict != ANY:
        raise Failed(f"{name}: the answer is not finite")


def copies(subject: Subject, rng: RNG, say: Say) -> None:
    """Clone, pickle, save and load: the same state, or a refusal of what is code."""
    way = str(rng.choice(["clone", "pickle", "save", "reset"]))
    say(f"{subject.name}.{way}")
    one, ours = subject.learner, subject.name.count("L") == len(re.findall("LSTD|LSPE|LambdaR", subject.name))
    if way == "reset":
        judge("reset", subject, ANY, lambda one: one.reset())
        return
    if (way == "pickle" and subject.acts) or (way == "save" and ("Custom" in subject.name or not ours)):
        return
    try:
        if way == "save":
            with tempfile.TemporaryDirectory() as folder:
                one.save(f"{folder}/it")
                clone = td.load(f"{folder}/it")
        else:
            clone = one.clone() if way == "clone" else pickle.loads(pickle.dumps(one))
    except Exception as error:
        raise Failed(f"{way}: {brief(error)}") from error
    if Subject(subject.name, clone, subject.world, SAME).state() != subject.state():
        raise Failed(f"{way}: the copy is in another state")


def in_the_engine(rng: RNG, say: Say) -> None:
    """`engine.run` of a learner on features that are wrong after a while."""
    name = str(rng.choice([next(iter(TRACES)), "TrueOnlineTD", "LSTD", "AutoTD"]))
    liar = Liar(str(rng.choice(list(ENCODINGS))), int(rng.integers(8)))
    must, features = (
        required(liar.fault, ENCODINGS),
        liar if name not in TRACES or rng.integers(2) else td.features.OneHot(11),
    )
    lam: Any = 0.9 if features is liar else td.rules.Meta(features=liar)
    options = {} if name in PLAIN else {"lam": lam}
    learner = (TRACES | OTHERS | PLAIN)[name](features, **options)
    subject = Subject(f"{name}({features!r}, {options})", learner, WORLDS["OneHot(5)"](), SAME)
    say(f"engine.run({subject.name}), wrong after {liar.after} [{must.name}]")

    def run(one: Any) -> None:
        td.engine.run("RingWorld-v0", [one], 1, 300, threads=1, progress=False)
        if must == WRONG and liar.calls > liar.after:
            raise Failed(f"engine.run: accepted features with {liar.fault}")

    judge(f"engine.run of a Liar({liar.fault})", subject, SAME if must == SAME else ANY, run)


def _liar(subject: Subject) -> str:
    """Which parts of a subject are wrong, if any."""
    found = re.findall(r"(?:Meta\()?(?:Liar|LyingRule)\((?!honest).*?\)|(?:short|long) table", subject.name)
    return f" with {' and '.join(found)}" if found else ""


def _type(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{type(value).__name__} {value.dtype} {value.ndim}-D"
    return type(value).__name__


def _shown(arguments: dict[str, Any]) -> str:
    with np.printoptions(threshold=8, edgeitems=2):
        return ", ".join(f"{name}={reprlib.repr(value)}" for name, value in arguments.items())


def warm() -> None:
    """Load what cases need: one learner of each kind, on each kind of features."""
    rng = np.random.default_rng(0)
    for name, build in (TRACES | OTHERS | PLAIN).items():
        for world in (make() for make in WORLDS.values()):
            one = build(world.features, **({} if name in PLAIN else {"lam": 0.9}))
            _try_out(Subject(name, one, world, SAME), rng)
        if name in TRACES:
            for lam, dtype in (("auto", "float64"), ("meta", "float32")):
                one = build(world.features, lam=lam, dtype=dtype)
                _try_out(Subject(name, one, world, SAME), rng)
    one_hot = WORLDS["OneHot(5)"]()
    agent = td.ActorCritic(td.TrueOnlineTD(one_hot.features, 0.1, dtype="float32"), td.control.Softmax(2), 0.1)
    agent.update(**plain_step(Subject("", agent, one_hot, SAME), rng))
    agent.act(0, rng), agent.policy_at(0)
    _try_out(Subject("", agent.critic, one_hot, SAME), rng)
    for rule in (0.9, "meta"):
        td.engine.run("RingWorld-v0", [td.TD(td.features.OneHot(11), 0.1, rule)], 1, 20, threads=1, progress=False)
        td.engine.run("RingWorld-v0", [td.TrueOnlineTD(Liar("honest"), 0.1, rule)], 1, 20, threads=1, progress=False)


def _try_out(subject: Subject, rng: RNG) -> None:
    one, world = subject.learner, subject.world
    one.update(**plain_step(subject, rng))
    one.update_many(**plain_columns(world, rng, 3))
    one.predict_many(world.many(rng, 2))
    one.reset()


ATTACK = Attack("online", "hostile calls to every learner", case, warm, seconds=120.0)
