"""What an algorithm and a rule for λ are: named rows and numbers, pure functions of numbers, equations as text.

No loop and no array: those belong to the schedules.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

from tdlambda.core import source
from tdlambda.core.equations import Forms, forms, parse
from tdlambda.core.runtime import COUNTERS, LIMITS

INPUTS = ("reward", "gamma_next", "rho", "lam_next")
"""What a transition gives every estimate: γ' is the discount on entering x', λ' the λ of x'."""
RULE_INPUTS = ("reward", "gamma_next", "rho", "ready", "alpha", "xx", "zz", "most_reward", "one")
"""What a rule may ask for besides. `ready`: x' is not terminal and the warm-up is over; `alpha`: the value's step size
at this step; `xx`, `zz`: |x|² and |z|²; `most_reward`: the largest |reward| so far; `one`: 1."""
PHASES = ("", "x", "x'", "z", "after x", "all")
"""Where a rule's function is called: once; at every active feature of x, of x', of λ's features at x'; at those of x
after all estimates have learnt; at every feature when `closes` says so."""


IN_LANES = frozenset(
    ["allowed", "beyond", "bound", "by", "lane", "prediction", "top", "trace_top", "weight_top", "x1", "y1"]
)
"""Names that generated loops use beside those of a declaration."""
IN_ROWS = frozenset(
    [
        "f",
        "fresh",
        "i",
        "j",
        "limit",
        "listed",
        "live",
        "n",
        "n_live",
        "n_next",
        "order",
        "own",
        "rows",
        "s",
        "state",
        "value",
        "within",
        "x",
        "xv",
        "y",
        "yv",
        "z",
        "zv",
    ]
)
"""Likewise, of rows and step sizes."""
IN_STATE = frozenset([*COUNTERS, *LIMITS, "offset", "power"])
"""Numbers that every learner has."""


def words(text: str) -> list[str]:
    """Names, separated by blanks."""
    return text.split()


class Declaration:
    """Named state and pure functions, whose arguments are found by their names and whose results `return` names."""

    weight_rows: ClassVar[str] = ""
    """Rows that stay when an episode ends."""
    trace_rows: ClassVar[str] = ""
    """Rows that are 0 when an episode begins."""
    parameters: ClassVar[str] = ""
    """Numbers of each learner that do not change."""
    dots: ClassVar[Mapping[str, str]] = {}
    keeps: Mapping[str, float | str] = {}
    """Numbers kept from step to step → what an episode begins with: a number, or the name of a dot product."""
    updates: ClassVar[str] = ""
    """The update of the rows, as equations."""
    inputs: ClassVar[tuple[str, ...]] = ()
    step: ClassVar[Any]
    """The pure function of numbers."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Read the declaration, and refuse one that no schedule could use."""
        super().__init_subclass__(**options)
        if "step" in cls.__dict__ or (hasattr(cls, "step") and {"updates", "dots", "keeps"} & set(cls.__dict__)):
            try:
                cls._check_declaration()
            except (ValueError, TypeError) as error:
                raise TypeError(f"{cls.__name__}: {error}") from None

    @classmethod
    def row_names(cls) -> list[str]:
        """All rows, weights first."""
        return [*words(cls.weight_rows), *words(cls.trace_rows)]

    @classmethod
    def known_names(cls) -> set[str]:
        """What functions may ask for by name."""
        return {*cls.dots, *cls.keeps, *words(cls.parameters), *cls.inputs}

    @classmethod
    def equations(cls) -> Forms:
        """The updates, taken apart."""
        return _forms(cls.updates, tuple(cls.row_names()))

    @classmethod
    def _functions(cls) -> dict[str, Callable[..., Any]]:
        return {"step": cls.step}

    @classmethod
    def _check_declaration(cls) -> None:
        rows = cls.row_names()
        own = [*rows, *words(cls.parameters), *cls.dots, *cls.keeps]
        _require_names(own)
        _require_free(rows, IN_ROWS)
        _require_free(words(cls.parameters), IN_STATE)
        clashing = sorted({name for name in own if own.count(name) > 1} | set(cls.inputs) & set(own))
        if clashing:
            raise TypeError(f"{', '.join(clashing)}: a name means one thing; it is declared twice, or is an input")
        known = cls.known_names()
        results: list[str] = []
        for name, function in cls._functions().items():
            _require_plain(name, function)
            made = source.returned(function)
            _require_names(made)
            for argument in source.arguments(function):
                if argument not in {*known, *results, *cls._at_features(name)}:
                    options = ", ".join(sorted({*known, *results, *cls._at_features(name)}))
                    raise TypeError(f"{name} asks for {argument!r}, which is not declared; it may ask for {options}")
            results += made
        lost = [name for name in cls.keeps if name not in results]
        if lost:
            raise TypeError(f"step must return what it keeps, {', '.join(lost)}")
        for name, start in cls.keeps.items():
            if isinstance(start, str) and start not in cls.dots:
                raise TypeError(f"keeps: {name!r} must begin with a number or the name of a dot product; got {start!r}")
        for name in cls.equations().coefficients:
            if name not in {*results, *known}:
                raise TypeError(f"updates: {name!r} is neither returned by step nor an input")

    @classmethod
    def _at_features(cls, name: str) -> set[str]:  # noqa: ARG003
        return set()


@cache
def _forms(updates: str, rows: tuple[str, ...]) -> Forms:
    return forms(parse(updates, list(rows)))


def _require_names(names: list[str]) -> None:
    bad = [n for n in names if not n.isidentifier() or keyword.iskeyword(n) or n.endswith("_") or n.startswith("_")]
    if bad:
        raise TypeError(f"{', '.join(map(repr, bad))}: a name is letters, digits and _ between them")
    _require_free(names, IN_LANES)


def _require_free(names: list[str], reserved: frozenset[str]) -> None:
    taken = [name for name in names if name in reserved]
    if taken:
        raise TypeError(f"{', '.join(map(repr, taken))}: generated code needs this name itself; choose another")


def _require_plain(name: str, function: Any) -> None:
    try:
        node = source.tree(function)
    except (OSError, TypeError) as error:
        raise TypeError(
            f"{name} must be a plain function (def) whose source is in a file or a notebook: {error}"
        ) from None
    args = node.args
    if args.vararg or args.kwarg or args.kwonlyargs or args.defaults or args.posonlyargs:
        raise TypeError(f"{name} must have plain arguments: no defaults, no * and no **")
    if args.args and args.args[0].arg == "self":
        raise TypeError(f"{name} must be a @staticmethod: a pure function of numbers, without self")


class Algorithm(Declaration):
    """How one estimate learns from one transition.

    `dots` are "row.x", "row.x'" or "row.row"; `step` turns them, what is kept, step sizes and inputs into coefficients.
    """

    weight_rows = "w"
    """Rows that stay; predictions are made of the first."""
    trace_rows = "e"
    sizes: ClassVar[str] = "alpha"
    """Step sizes: numbers of each learner that a schedule changes and that a rule's further estimates scale."""
    of_value: ClassVar[str] = ""
    """Parameters that are 0 for a rule's further estimates."""
    trace_scale: ClassVar[str] = ""
    """Step sizes that traces carry; their size is measured by the least of them."""
    reads_terminal: ClassVar[bool] = False
    """Whether x' is read on termination too."""
    feature: ClassVar[Any] = None
    """In place of `updates`: a function of one feature's rows, its x and coefficients that returns the rows. It is
    called at features with a live trace and at those of x."""
    inputs = INPUTS

    @classmethod
    def known_names(cls) -> set[str]:
        """What functions may ask for by name."""
        return super().known_names() | set(words(cls.sizes))

    @classmethod
    def _functions(cls) -> dict[str, Callable[..., Any]]:
        feature = {"feature": cls.feature} if cls.feature is not None else {}
        return super()._functions() | feature

    @classmethod
    def _at_features(cls, name: str) -> set[str]:
        return {*cls.row_names(), "x"} if name == "feature" else set()

    @classmethod
    def _check_declaration(cls) -> None:
        rows, sizes = cls.row_names(), words(cls.sizes)
        if not words(cls.weight_rows):
            raise TypeError("weight_rows must name at least one row, the weights that predictions are made of")
        if not sizes or sizes[0] != "alpha":
            raise TypeError(f"sizes must begin with alpha; got {cls.sizes!r}")
        _require_free(sizes, IN_ROWS | IN_STATE)
        super()._check_declaration()
        both = sorted(set(sizes) & {*rows, *words(cls.parameters), *cls.dots, *cls.keeps, *cls.inputs})
        if both:
            raise TypeError(f"{', '.join(both)}: a name means one thing; it is a step size and something else")
        for name, what in cls.dots.items():
            left, _, right = what.partition(".")
            if left not in rows or right not in [*rows, "x", "x'"]:
                raise TypeError(f"dots: cannot read {name!r}: {what!r}; write row.x, row.x' or row.row")
        for some, where in ((cls.of_value, "parameters"), (cls.trace_scale, "sizes")):
            unknown = set(words(some)) - set(words(getattr(cls, where)))
            if unknown:
                raise TypeError(f"{', '.join(sorted(unknown))}: not among {where}")
        if (cls.feature is None) == (not cls.updates.strip()):
            raise TypeError("say how rows change: by updates (equations), or by feature (a function), not both")
        if cls.feature is not None:
            strange = set(source.returned(cls.feature)) - set(rows)
            if strange:
                raise TypeError(f"feature must return rows; it returns {', '.join(sorted(strange))}")
        if any(f"{v} " in f"{line} " for line in cls.updates.splitlines() for v in (" z",)):
            raise TypeError("updates: z are the features of a rule; an algorithm has x and x'")


class Estimate(NamedTuple):
    """What a rule gives one estimate at each step, each the name of an input, a parameter or a result."""

    reward: str = "reward"
    discount: str = "gamma_next"
    ratio: str = "rho"
    lam: str = "lam_next"
    pace: str = "one"
    """A factor on the step sizes."""


class Rule(Declaration):
    """Where λ' comes from: further estimates, learnt by the value's own algorithm, and functions of their predictions.

    `dots` are "estimate.x", "estimate.x'" (predictions), "estimate.row.x", "estimate.kept" (a kept number, before the
    step), and "row.x", "row.x'" or "row.z" of the rule's own rows.
    """

    estimates: Mapping[str, tuple[str, ...]] = {"V": ("reward", "gamma_next", "rho", "lam_next")}
    """Estimate → its own (reward, discount, ratio, λ') and, if its step sizes are scaled, the factor. V comes first."""
    squares: tuple[str, ...] = ()
    """Estimates with the unit of reward²."""
    corrected: bool = False
    """Whether the squares are of returns that carry their importance ratios."""
    pins: Mapping[str, float] = {}
    """Kept numbers of estimates that the rule holds fixed: "S.decay" → 1.0."""
    decides: ClassVar[bool] = True
    """Whether the rule makes λ'; if not, λ' is given and the rule may ask for it as `lam_next`."""
    row_bound: ClassVar[float] = 1e300
    """A weight of the rule's own beyond this is divergence."""
    options: ClassVar[tuple[str, ...]] = ()
    """Names of the `constants`. `carries_alpha`, whether the algorithm's traces carry a step size, is given to all."""
    reported: ClassVar[tuple[str, ...]] = ()
    """Rows of the rule's own that are estimates too, to be shown beside the others."""
    over: ClassVar[str] = "z"
    """What the rule's rows range over: λ's features "z", or the learner's own features "x"."""
    shared: ClassVar[str] = ""
    """Parameters that are the same in all lanes of a block."""
    phases: Mapping[str, str] = {"step": ""}
    """The rule's functions, in order, and where each is called: see `PHASES`. At features, a result that is no row is
    summed over them, and `{name}_count` is their number."""
    closes: ClassVar[Any] = None
    """A function (since, size, ended, shared parameters) → whether to call the phase at "all" features now."""
    inputs = RULE_INPUTS

    def constants(self) -> dict[str, Any]:
        """Arguments of the functions that are decided when code is generated: the form of the rule."""
        return {}

    def function(self, name: str) -> Any:
        """One of the phases' functions, or its source."""
        return getattr(self, name)

    @classmethod
    def learns(cls) -> bool:
        """Whether λ is learnt: whether there is a `step`."""
        return hasattr(cls, "step")

    @classmethod
    def _functions(cls) -> dict[str, Callable[..., Any]]:
        return {name: getattr(cls, name) for name in cls.phases}

    @classmethod
    def _at_features(cls, name: str) -> set[str]:
        if not cls.phases.get(name):
            return set()
        return {*cls.row_names(), *(f"{k}_w" for k in cls.estimates), "x"}

    @classmethod
    def known_names(cls) -> set[str]:
        """What functions may ask for by name."""
        counts = {f"{name}_count" for name, where in cls.phases.items() if where}
        given = set() if cls.decides else {"lam_next"}
        return super().known_names() | counts | given | {*cls.options, *words(cls.shared)}

    @classmethod
    def _check_declaration(cls) -> None:
        super()._check_declaration()
        _require_free([*cls.keeps, *words(cls.shared)], IN_STATE)
        if next(iter(cls.estimates), None) != "V":
            raise TypeError(f"estimates must begin with V, the value; got {', '.join(cls.estimates) or 'none'}")
        results = [name for function in cls._functions().values() for name in source.returned(function)]
        if cls.decides and "lam_next" not in results:
            raise TypeError("step must return lam_next, the λ of x'")
        known = {*cls.inputs, *words(cls.parameters), *results, *(() if cls.decides else ("lam_next",))}
        for name, given in cls.estimates.items():
            if len(given) not in (4, 5):
                raise TypeError(f"estimates: {name} must have a reward, a discount, a ratio and a λ'; got {given}")
            strange = [what for what in given if what not in known]
            if strange:
                raise TypeError(f"estimates: {name} is given {', '.join(strange)}, which step does not return")
        for name, what in cls.dots.items():
            left, *rest = what.split(".")
            vectors = ["x", "x'"] if cls.over == "x" else ["z"]
            good = left in cls.estimates and len(rest) in (1, 2)
            if not good and not (left in cls.row_names() and rest and rest[0] in vectors):
                raise TypeError(f"dots: cannot read {name!r}: {what!r}; write V.x', V.e.x, V.decay or row.{vectors[0]}")
        unknown = set(cls.phases.values()) - set(PHASES)
        if unknown:
            raise TypeError(f"phases: {', '.join(map(repr, unknown))} must be one of {', '.join(map(repr, PHASES))}")


class Phase(NamedTuple):
    """One function of a rule, in the form that a model has."""

    name: str
    where: str
    function: Any
    arguments: list[str]
    results: list[str]


class Model:
    """An algorithm with a rule (None: λ' is given) and a schedule of step sizes: all that a schedule of loops needs."""

    def __init__(
        self,
        algorithm: type[Algorithm],
        rule: Rule | None = None,
        sizes_by: str = "constant",
        apart: tuple[str, ...] = (),
    ) -> None:
        self.algorithm, self.rule, self.sizes_by, self.apart = algorithm, rule, sizes_by, apart
        given: Mapping[str, tuple[str, ...]] = Rule.estimates if rule is None else rule.estimates
        self.estimates = {name: Estimate(*what) for name, what in given.items() if name not in apart}
        self.constants = {} if rule is None else rule.constants()
        if rule is not None and "carries_alpha" in rule.options:
            self.constants["carries_alpha"] = bool(words(algorithm.trace_scale))
        self.phases: list[Phase] = []
        if rule is not None:
            self._check_names(rule)
            later = self._wanted(rule)
            for name, where in reversed(list(rule.phases.items())):
                function = rule.function(name)
                results = [n for n in source.returned(function) if n in later]
                arguments = source.arguments(function, self.constants, results)
                self.phases.insert(0, Phase(name, where, function, arguments, results))
                later |= set(arguments)

    def _wanted(self, rule: Rule) -> set[str]:
        """What is needed of the rule's results, but for what one of its functions asks of another."""
        given = {name for what in self.estimates.values() for name in what}
        coefficients = rule.equations().coefficients if rule.updates else []
        return {*given, *rule.keeps, *rule.row_names(), *coefficients}

    def _check_names(self, rule: Rule) -> None:
        a = self.algorithm
        both = sorted({*words(a.sizes), *words(a.parameters)} & {*words(rule.parameters), *words(rule.shared)})
        if both:
            raise TypeError(f"lam: {a.__name__} and {type(rule).__name__} both have a number {', '.join(both)}")
        for what in rule.dots.values():
            left, *rest = what.split(".")
            known = (*a.keeps, *a.row_names(), "x", "x'")
            if left in self.estimates and rest[0] not in known:
                who = type(rule).__name__
                raise TypeError(f"lam: {who} needs {rest[0]!r} of the algorithm, which {a.__name__} does not have")

    @property
    def name(self) -> str:
        """For files."""
        rule = "given" if self.rule is None else type(self.rule).__name__
        return f"{self.algorithm.__name__}_{rule}".lower()

    @property
    def title(self) -> str:
        """For people."""
        rule = "given λ" if self.rule is None else f"λ by {type(self.rule).__name__}"
        form = ", ".join(f"{k}={v!r}" for k, v in self.constants.items())
        by = "" if self.sizes_by == "constant" else f", step sizes by {self.sizes_by}"
        return f"{self.algorithm.__name__}, {rule}{f' ({form})' if form else ''}{by}"

    @cached_property
    def rows(self) -> list[str]:
        """Rows over the learner's features, in the order they lie in memory."""
        return [f"{k}_{row}" for k in self.estimates for row in self.algorithm.row_names()]

    @cached_property
    def own_rows(self) -> list[str]:
        """Rows of the rule's own."""
        return [] if self.rule is None else self.rule.row_names()

    @cached_property
    def over_x(self) -> bool:
        """Whether the rule's rows range over the learner's features."""
        return self.rule is not None and self.rule.over == "x"

    @cached_property
    def constant_numbers(self) -> list[str]:
        """Numbers that do not change."""
        names = [*words(self.algorithm.sizes), *words(self.algorithm.parameters)]
        if self.sizes_by != "constant":
            names += ["offset", "power"]
        return names + ([] if self.rule is None else words(self.rule.parameters))

    @cached_property
    def kept(self) -> list[str]:
        """Numbers kept from step to step."""
        own = [] if self.rule is None else list(self.rule.keeps)
        return [f"{k}_{keep}" for k in self.estimates for keep in self.algorithm.keeps] + own

    @cached_property
    def results(self) -> list[str]:
        """What the rule's functions return, rows left out."""
        return list(dict.fromkeys(n for p in self.phases for n in p.results if n not in self.own_rows))

    def independent(self) -> tuple[str, ...]:
        """Estimates beside the value that learn alike whatever the rule does: they may be learnt apart."""
        free = {*INPUTS[:3], "one", *(words(self.rule.parameters) if self.rule is not None else [])}
        return tuple(name for name, given in self.estimates.items() if name != "V" and set(given) <= free)

    def parameter(self, name: str, estimate: str) -> str:
        """Where an estimate finds a parameter of the algorithm: "0.0" if it is the value's alone."""
        return "0.0" if name in words(self.algorithm.of_value) and estimate != "V" else name

    def pinned(self, estimate: str, keep: str) -> float | None:
        """What a rule holds a kept number at."""
        return None if self.rule is None else self.rule.pins.get(f"{estimate}.{keep}")

    def needed(self) -> list[tuple[str, str, str]]:
        """All dot products (estimate, row, vector), of the algorithm and of the rule, each once."""
        a, first = self.algorithm, words(self.algorithm.weight_rows)[0]
        found = [(k, *what.split(".", 1)) for k in self.estimates for what in a.dots.values()]
        found += [(k, first, "x'") for k in self.estimates]  # predictions are looked at for divergence
        found.append(("V", first, "x"))
        if self.rule is not None:
            used = {argument for phase in self.phases for argument in phase.arguments}
            for name, what in self.rule.dots.items():
                left, *rest = what.split(".")
                if left in self.estimates and name in used and rest[-1] in ("x", "x'"):
                    found.append((left, first if len(rest) == 1 else rest[0], rest[-1]))
        return list(dict.fromkeys(found))  # type: ignore[arg-type]
