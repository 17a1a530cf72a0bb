"""Declarations of algorithms and rules for λ: named rows and numbers, pure functions of numbers, equations as text.

Declarations contain no loops and no arrays; the schedules add them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple

from tdlambda.core import source
from tdlambda.core.equations import Forms, forms, parse
from tdlambda.core.names import (
    IN_MIXTURES,
    IN_ROWS,
    IN_RULES,
    IN_STATE,
    require_apart,
    require_free,
    require_names,
    require_plain,
    words,
)
from tdlambda.core.vectors import expanded, rewritten, size_of

INPUTS = ("reward", "gamma_next", "rho", "lam_next")
"""Inputs of every estimate, from the transition: γ' is the discount on entering x', λ' is λ at x'."""
RULE_INPUTS = ("reward", "gamma_next", "rho", "ready", "alpha", "xx", "zz", "most_reward", "turning", "one")
"""Inputs that a rule's functions may have as arguments, besides names of its declaration. `ready`: x' is not terminal
and the warm-up is over; `alpha`: the value's step size at this step; `xx`, `zz`: |x|² and |z|²; `most_reward`: the
largest |reward| so far; `turning`: whether the weights of a mixture may change at this step; `one`: 1."""
OUTER_DOTS = ("x.x", "x.x'", "x'.x'")
"""Dot products of a transition's features; they are the same for all estimates."""
PHASES = ("", "x", "x'", "z", "after x", "all")
"""Where a rule's function is called: "" once per step; "x", "x'", "z" at every active feature of x, of x', of λ's
features at x'; "after x" at those of x, after all estimates have learned; "all" at every feature, at the steps where
`closes` returns True."""

LATE = ("after x", "all")
"""Phases that come after all estimates have learned."""


class Declaration:
    """Named state and pure functions. Arguments are matched by name; the names in `return` are those of the results."""

    weight_rows: ClassVar[str] = ""
    """Rows that persist across episodes."""
    trace_rows: ClassVar[str] = ""
    """Rows that are reset to 0 when an episode begins."""
    parameters: ClassVar[str] = ""
    """Constant numbers of each learner."""
    dots: ClassVar[Mapping[str, str]] = {}
    """Dot products: name → "left.right", as the subclasses describe."""
    keeps: Mapping[str, float | str] = {}
    """Numbers kept from step to step → their value at the start of an episode: a number or a dot product."""
    holds: Mapping[str, float] = {}
    """Numbers kept across steps and episodes → their initial values. As in `parameters`, `dots` and `keeps`, a name
    `p[6]` stands for a vector of six: see `core.vectors`."""
    updates: ClassVar[str] = ""
    """The update of the rows, as equations."""
    starts: ClassVar[Mapping[str, float]] = {}
    """Weight rows that do not start at 0 → their initial value."""
    inputs: ClassVar[tuple[str, ...]] = ()
    """Further names that functions may have as arguments."""
    step: ClassVar[Any]
    """The pure function of numbers that is called once per step."""
    _vectors: ClassVar[Mapping[str, int]] = {}
    """Names of vectors of numbers → their lengths: see `core.vectors`."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Parse and validate the declaration."""
        super().__init_subclass__(**options)
        if not cls.__name__.isidentifier():
            raise TypeError(f"the name of a declaration must be a Python identifier; got {cls.__name__!r}")
        try:
            cls._expand_vectors()
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}") from None
        said = {"updates", "dots", "keeps", "ranges"} & set(cls.__dict__)
        if "step" in cls.__dict__ or (said and hasattr(cls, "step")):
            try:
                cls._check_declaration()
                cls._check_order()
            except (ValueError, TypeError) as error:
                raise TypeError(f"{cls.__name__}: {error}") from None

    @classmethod
    def _expand_vectors(cls) -> None:
        """Replace vectors `name[n]` by their numbers, in what the class itself declares."""
        own = vars(cls)
        every = ("dots", "keeps", "holds", "estimates", "mixture", "ranges")
        tables = [name for name in every if isinstance(own.get(name), Mapping)]
        keys = [key for name in tables for key in own[name]]
        keys += [word for name in ("parameters", "shared") for word in own.get(name, "").split()]
        found = dict(vector for key in keys if (vector := size_of(key)) is not None)
        cls._vectors = {**cls._vectors, **found}
        if not cls._vectors:
            return
        for name in tables:
            setattr(cls, name, expanded(own[name]))
        for name, what in list(own.items()):
            if isinstance(what, staticmethod):
                setattr(cls, name, staticmethod(rewritten(what.__func__, cls._vectors)))

    @classmethod
    def row_names(cls) -> list[str]:
        """All rows, weights first."""
        return [*words(cls.weight_rows), *words(cls.trace_rows)]

    @classmethod
    def known_names(cls) -> set[str]:
        """The names that functions may have as arguments."""
        return {*cls.dots, *cls.keeps, *cls.holds, *words(cls.parameters), *cls.inputs}

    @classmethod
    def equations(cls) -> Forms:
        """The parsed updates."""
        return _forms(cls.updates, tuple(cls.row_names()))

    @classmethod
    def _functions(cls) -> dict[str, Callable[..., Any]]:
        return {"step": cls.step}

    @classmethod
    def _check_declaration(cls) -> None:
        rows = cls.row_names()
        own = [*rows, *words(cls.parameters), *cls.dots, *cls.keeps, *cls.holds]
        require_names(own, rows, cls.dots.values())
        require_free(rows, IN_ROWS)
        require_free(words(cls.parameters), IN_STATE)
        clashing = sorted({name for name in own if own.count(name) > 1} | set(cls.inputs) & set(own))
        if clashing:
            raise TypeError(f"{', '.join(clashing)}: declared twice, or the name of an input; choose another name")
        known = cls.known_names()
        results: list[str] = []
        for name, function in cls._functions().items():
            require_plain(name, function)
            made = source.returned(function)
            require_names(made, rows, cls.dots.values())
            given = {*words(cls.parameters), *words(getattr(cls, "sizes", "")), *cls.inputs} & {*made}
            if given:
                what = f"a constant or an input, which {name} must not return; choose another name"
                raise TypeError(f"{', '.join(sorted(given))}: {what}")
            for argument in source.arguments(function):
                if argument not in {*known, *results, *cls._at_features(name)}:
                    options = ", ".join(sorted({*known, *results, *cls._at_features(name)}))
                    raise TypeError(f"{name} has an unknown argument {argument!r}; its arguments may be {options}")
            results += made
        require_apart({*own, *known, *results})
        lost = [name for name in (*cls.keeps, *cls.holds) if name not in results]
        if lost:
            raise TypeError(f"step must return all numbers of keeps and holds; {', '.join(lost)} is missing")
        for name, start in cls.keeps.items():
            if isinstance(start, str) and cls.dots.get(start, "x.x") in OUTER_DOTS:
                raise TypeError(f"keeps: {name!r} must start as a number or a dot product of a row; got {start!r}")
        for name in cls.equations().coefficients:
            if name not in {*results, *known}:
                raise TypeError(f"updates: unknown coefficient {name!r}; return it from step, or declare it")

    @classmethod
    def _require_no_attributes(cls, names: list[str]) -> None:
        """Validate that no default, which is a class attribute, replaces an attribute of the base classes."""
        own = lambda base, n: base.__module__ == __name__ or hasattr(vars(base)[n], "__get__")  # noqa: E731
        taken = [n for n in names if any(n in vars(base) and own(base, n) for base in cls.__mro__[1:])]
        if taken:
            raise TypeError(f"{', '.join(map(repr, taken))}: classes have an attribute of this name; choose another")

    @classmethod
    def _check_order(cls) -> None:
        """Validate that every number is computed before it is used."""

    @classmethod
    def _at_features(cls, name: str) -> set[str]:  # noqa: ARG003
        return set()


@cache
def _forms(updates: str, rows: tuple[str, ...]) -> Forms:
    return forms(parse(updates, list(rows)))


class AlgorithmDeclaration(Declaration):
    """The declaration of a learning algorithm: how one estimate learns from one transition.

    `dots` are "row.x", "row.x'", "row.row", and "x.x", "x.x'" or "x'.x'". `step` computes the coefficients of the
    updates from them, from kept numbers, step sizes, parameters and inputs.
    """

    weight_rows = "w"
    """Rows that persist; predictions use the first one."""
    trace_rows = "e"
    sizes: ClassVar[str] = "alpha"
    """Step sizes, α first: numbers that a schedule may change and a rule may scale for its auxiliary estimates."""
    ranges: ClassVar[Mapping[str, Callable[[Any, str], float]]] = {}
    """Parameters and step sizes other than α → a function (value, name) that validates and returns the number, such as
    `positive`, `not_negative` or `fraction` of `tdlambda.arrays`. Without one, any number is allowed."""
    of_value: ClassVar[str] = ""
    """Parameters set to 0 for the auxiliary estimates of a rule."""
    correcting: ClassVar[str] = ""
    """Step sizes of secondary weights; where they are 0, the algorithm reduces to TD(λ)."""
    trace_scale: ClassVar[str] = ""
    """Step sizes that are factors of the traces; whether a trace is negligible is judged relative to the smallest."""
    center: ClassVar[str] = ""
    """One of `holds`, an average reward, which is subtracted from every reward before estimates and rule use it."""
    reads_terminal: ClassVar[bool] = False
    """Whether the features x' of a terminal state are used; otherwise they count as 0."""
    feature: ClassVar[Any] = None
    """In place of `updates`: a function of one feature's rows, its x and coefficients that returns the new rows. It is
    called at live features and at those of x; if it has the argument `x_next`, also at those of x'."""
    lasting_rows: ClassVar[str] = ""
    """With `feature`: weight rows that decay by themselves; a feature stays live until its entries are negligible."""
    before: ClassVar[Any] = None
    """With `feature`: a function of one feature that is called before `step` and may have the same arguments. It may
    return rows, which are stored, and numbers, which are summed over features; the sums may be arguments of `step`."""
    before_at: ClassVar[str] = "x"
    """Where `before` is called: "x", at the features of x, or "live", wherever `feature` is called."""
    inputs = INPUTS

    @classmethod
    def fading_weights(cls) -> list[str]:
        """Weight rows that decay by themselves: a feature stays live until its entries in them are negligible."""
        if cls.feature is not None:
            return words(cls.lasting_rows)
        return [row for row in cls.equations().decaying if row in words(cls.weight_rows)]

    @classmethod
    def number_names(cls) -> list[str]:
        """The numbers of a learner besides α: other step sizes and parameters."""
        return [*words(cls.sizes)[1:], *words(cls.parameters)]

    @classmethod
    def known_names(cls) -> set[str]:
        """The names that functions may have as arguments."""
        return super().known_names() | set(words(cls.sizes))

    @classmethod
    def _functions(cls) -> dict[str, Callable[..., Any]]:
        before = {"before": cls.before} if cls.before is not None else {}
        feature = {"feature": cls.feature} if cls.feature is not None else {}
        return before | super()._functions() | feature

    @classmethod
    def _at_features(cls, name: str) -> set[str]:
        return {*cls.row_names(), "x", "x_next"} if name in ("before", "feature") else set()

    @classmethod
    def _check_declaration(cls) -> None:
        rows, sizes = cls.row_names(), words(cls.sizes)
        cls._require_no_attributes([*sizes, *words(cls.parameters)])
        if not words(cls.weight_rows):
            raise TypeError("weight_rows must name at least one row, the weights that predictions are made of")
        if not sizes or sizes[0] != "alpha":
            raise TypeError(f"sizes must begin with alpha; got {cls.sizes!r}")
        require_names(sizes, rows, cls.dots.values())
        require_free(sizes, IN_ROWS | IN_STATE)
        require_free([*sizes, *words(cls.parameters)], IN_MIXTURES)
        super()._check_declaration()
        both = sorted(set(sizes) & {*rows, *words(cls.parameters), *cls.dots, *cls.keeps, *cls.holds, *cls.inputs})
        if both:
            raise TypeError(f"{', '.join(both)}: declared twice, once as a step size; choose another name")
        for name, what in cls.dots.items():
            left, _, right = what.partition(".")
            if what not in OUTER_DOTS and (left not in rows or right not in [*rows, "x", "x'"]):
                raise TypeError(
                    f"dots: cannot read {name!r}: {what!r}; write row.x, row.x', row.row, x.x, x.x' or x'.x'"
                )
        for some, where in ((cls.of_value, "parameters"), (cls.trace_scale, "sizes"), (cls.correcting, "sizes")):
            unknown = set(words(some)) - set(words(getattr(cls, where)))
            if unknown:
                raise TypeError(f"{', '.join(sorted(unknown))}: must be among {where}")
        unknown = set(cls.ranges) - set(cls.number_names())
        if unknown:
            known = ", ".join(cls.number_names()) or "none"
            raise TypeError(f"ranges: unknown {', '.join(sorted(unknown))}; the numbers besides alpha are {known}")
        if (cls.feature is None) == (not cls.updates.strip()):
            raise TypeError("declare either updates (equations) or feature (a function), and not both")
        if cls.center and cls.center not in cls.holds:
            raise TypeError(f"center must be one of holds; got {cls.center!r}")
        strange_rows = {*words(cls.lasting_rows), *cls.starts} - set(words(cls.weight_rows))
        if strange_rows:
            raise TypeError(f"{', '.join(sorted(strange_rows))}: lasting_rows and starts must be among weight_rows")
        if cls.feature is not None:
            strange = set(source.returned(cls.feature)) - set(rows)
            if strange:
                raise TypeError(f"feature must return rows only; got {', '.join(sorted(strange))}")
        cls._check_before()
        if any(f"{v} " in f"{line} " for line in cls.updates.splitlines() for v in (" z",)):
            raise TypeError("updates: z is for rules only; an algorithm has x and x'")

    @classmethod
    def _check_order(cls) -> None:
        from tdlambda.core.lowering import lowered
        from tdlambda.core.model import Model

        lowered(Model(cls))

    @classmethod
    def _check_before(cls) -> None:
        if cls.before is None:
            return
        if cls.feature is None:
            raise TypeError("before needs feature, a function of one feature; with updates, use dots")
        if cls.before_at not in ("x", "live"):
            raise TypeError(f'before_at must be "x" or "live"; got {cls.before_at!r}')
        if cls.before_at == "x" and "x_next" in source.arguments(cls.before):
            raise TypeError('before has the argument x_next, which needs before_at = "live"')
        asked = [cls.dots[name].partition(".")[0] for name in source.arguments(cls.before) if name in cls.dots]
        both = sorted(set(source.returned(cls.before)) & set(asked))
        if both:
            raise TypeError(f"before must not have a dot product of a row that it returns: {', '.join(both)}")


class Estimate(NamedTuple):
    """The inputs of one estimate at each step; each is the name of an input, a parameter or a result of the rule."""

    reward: str = "reward"
    discount: str = "gamma_next"
    ratio: str = "rho"
    lam: str = "lam_next"
    pace: str = "one"
    """A factor on the step sizes."""


class RuleDeclaration(Declaration):
    """The declaration of a rule for λ': further estimates, learned by the value's algorithm, and functions of them.

    `dots` are "estimate.x", "estimate.x'" (predictions), "estimate.row.x", "estimate.kept" (a kept number, before the
    step), and "row.x", "row.x'" or "row.z" of the rule's own rows.
    """

    estimates: Mapping[str, tuple[str, ...]] = {"V": ("reward", "gamma_next", "rho", "lam_next")}
    """Estimate → the names of its reward, discount, ratio and λ' and, if its step sizes are scaled, of the factor. The
    first is V, the value."""
    squares: tuple[str, ...] = ()
    """Estimates with the unit of reward², such as variances."""
    corrected: bool = False
    """Whether `squares` are moments of the return that includes its importance-sampling ratios."""
    by_td: ClassVar[tuple[str, ...]] = ()
    """Estimates that learn by TD(λ) instead of a gradient method: the step sizes `correcting` are 0 for them."""
    mixture: ClassVar[Mapping[str, str]] = {}
    """Estimate → the number (of `holds`) that is its weight in the mixture V. V then does not learn: it is the weighted
    sum of these estimates. The numbers may change only at steps where `turning` is True. When an estimate after the
    first one exceeds its bounds, it restarts from the weights of the first, so that the learner diverges only if the
    first one does."""
    pins: Mapping[str, float] = {}
    """Kept numbers of estimates that are constants under this rule: "S.decay" → 1.0."""
    decides: ClassVar[bool] = True
    """Whether the rule computes λ'; if not, λ' is given and the rule may read it as `lam_next`."""
    row_bound: ClassVar[float] = 1e300
    """The learner has diverged when an entry of the rule's own weight rows exceeds this bound."""
    options: ClassVar[tuple[str, ...]] = ()
    """Names of the `constants`, and optionally `carries_alpha`: whether a step size is a factor of the traces."""
    reported: ClassVar[tuple[str, ...]] = ()
    """The rule's own rows that are estimates too; `estimates` of a learner includes them."""
    over: ClassVar[str] = "z"
    """The features of the rule's rows: λ's features "z", or the learner's own features "x"."""
    shared: ClassVar[str] = ""
    """Parameters that are the same in all lanes of a block."""
    phases: Mapping[str, str] = {"step": ""}
    """The rule's functions, in order, and where each is called: see `PHASES`. If a function is called at features, its
    results that are not rows are summed over these features, and `{name}_count` is the number of features."""
    closes: ClassVar[Any] = None
    """A function (since, size, ended, shared parameters) → whether to call the phase "all" at this step. `since` is
    the number of steps since the last call, `size` the number of features, `ended` whether the episode ends."""
    inputs = RULE_INPUTS

    def constants(self) -> dict[str, Any]:
        """Arguments of the functions that are compiled into the generated code, by name."""
        return {}

    def function(self, name: str) -> Any:
        """The function of a phase, or its source."""
        return getattr(self, name)

    @classmethod
    def learns(cls) -> bool:
        """Whether λ is learned, that is, whether there is a `step`."""
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
        """The names that functions may have as arguments."""
        counts = {f"{name}_count" for name, where in cls.phases.items() if where}
        given = set() if cls.decides else {"lam_next"}
        return super().known_names() | counts | given | {*cls.options, *words(cls.shared)}

    @classmethod
    def _check_declaration(cls) -> None:
        cls._require_no_attributes([*words(cls.parameters), *words(cls.shared)])
        if cls.decides and "lam_next" in {*words(cls.parameters), *cls.dots, *cls.keeps, *cls.holds}:
            raise TypeError("lam_next: step returns the λ of x' by this name; choose another for the declared number")
        super()._check_declaration()
        require_names([*words(cls.shared), *cls.estimates], cls.row_names())
        require_free(words(cls.shared), IN_STATE)
        if next(iter(cls.estimates), None) != "V":
            raise TypeError(f"estimates must start with V, the value; got {', '.join(cls.estimates) or 'none'}")
        results = [name for function in cls._functions().values() for name in source.returned(function)]
        declared = {*words(cls.parameters), *cls.dots, *cls.keeps, *cls.holds, *results} - {*cls.inputs, *INPUTS}
        of_estimates = tuple(f"{k}_" for k in cls.estimates)
        counts = {name for name in declared if name.endswith("_count") or name.startswith(of_estimates)}
        joined = [name for name in cls.estimates if "_" in name]
        if joined:
            raise TypeError(f"estimates: {', '.join(map(repr, joined))}: the name of an estimate must have no _")
        require_free(sorted(declared), IN_RULES | {name.lower() for name in counts})
        require_free(sorted(declared - {*cls.row_names()}), IN_STATE)
        if cls.decides and "lam_next" not in results:
            raise TypeError("step must return lam_next, the λ of x'")
        known = {*cls.inputs, *words(cls.parameters), *results, *(() if cls.decides else ("lam_next",))}
        for name, given in cls.estimates.items():
            if len(given) not in (4, 5):
                raise TypeError(f"estimates: {name} must have a reward, a discount, a ratio and a λ'; got {given}")
            strange = [what for what in given if what not in known]
            if strange:
                raise TypeError(f"estimates: {name} has unknown {', '.join(strange)}; return it from step")
        for name, what in cls.dots.items():
            left, *rest = what.split(".")
            vectors = ["x", "x'"] if cls.over == "x" else ["z"]
            good = left in cls.estimates and len(rest) in (1, 2)
            if not good and not (left in cls.row_names() and rest and rest[0] in vectors):
                raise TypeError(f"dots: cannot read {name!r}: {what!r}; write V.x', V.e.x, V.decay or row.{vectors[0]}")
        if cls.mixture and (list(cls.estimates)[1] != next(iter(cls.mixture)) or set(cls.mixture) - set(cls.estimates)):
            raise TypeError("mixture: all must be among estimates, and the first must come directly after V")
        lost = [number for number in cls.mixture.values() if number not in cls.holds]
        if lost:
            raise TypeError(f"mixture: {', '.join(lost)} must be among holds")
        unknown = set(cls.phases.values()) - set(PHASES)
        if unknown:
            raise TypeError(f"phases: {', '.join(map(repr, unknown))} must be one of {', '.join(map(repr, PHASES))}")

    @classmethod
    def _check_order(cls) -> None:
        if "all" in cls.phases.values() and cls.closes is None:
            raise TypeError('phases: "all" needs closes, a function that says at which steps it is called')
        early, late = (
            {
                n
                for name, where in cls.phases.items()
                if (where in LATE) == after
                for n in source.returned(getattr(cls, name))
            }
            for after in (False, True)
        )
        inputs = {name for given in cls.estimates.values() for name in given}
        wanted = {*inputs, *cls.keeps, *cls.holds, *cls.equations().coefficients} & (late - early)
        if wanted:
            raise TypeError(
                f"{', '.join(sorted(wanted))}: computed after the estimates have learned; return it earlier"
            )
