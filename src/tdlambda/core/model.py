"""A model: an algorithm with a rule for λ and a schedule of step sizes, from which code is generated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from tdlambda.core import renaming, source
from tdlambda.core.declare import INPUTS, OUTER_DOTS, AlgorithmDeclaration, Estimate, RuleDeclaration
from tdlambda.core.names import words


class Phase(NamedTuple):
    """One function of a rule, with the arguments and results that this model needs; `where` is one of `PHASES`."""

    name: str
    where: str
    function: Any
    arguments: list[str]
    results: list[str]


class Model:
    """An algorithm with a rule for λ and a schedule of step sizes; the input of code generation.

    Parameters
    ----------
    algorithm
        The declaration of the algorithm.
    rule
        The rule; None if λ' is given at each step.
    sizes_by
        "constant", "steps" or "visits": what the schedule of step sizes counts.
    apart
        Estimates of the rule, or V, that are learned in another module; their predictions are given.
    corrected
        Whether each step has `cut`, a factor on λ' that depends on the action.
    mixed
        Whether x' is a mixture of features, as the expectation over next actions is. Then z is x of the next step.
    """

    def __init__(
        self,
        algorithm: type[AlgorithmDeclaration],
        rule: RuleDeclaration | None = None,
        sizes_by: str = "constant",
        apart: tuple[str, ...] = (),
        corrected: bool = False,
        mixed: bool = False,
    ) -> None:
        self.rule, self.sizes_by, self.apart = rule, sizes_by, apart
        self.corrected, self.mixed = corrected, mixed
        given: Mapping[str, tuple[str, ...]] = RuleDeclaration.estimates if rule is None else rule.estimates
        self.estimates = {name: Estimate(*what) for name, what in given.items() if name not in apart}
        self.renamed: dict[str, str] = {} if rule is None else self._renamed(algorithm, rule)
        """Numbers of the algorithm → their names here, where the rule uses the same ones."""
        self.algorithm = algorithm
        if self.renamed:  # mypy takes the class for an object that cannot be hashed
            self.algorithm = renaming.renamed(algorithm, tuple(self.renamed.items()))  # type: ignore[arg-type]
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

    def _wanted(self, rule: RuleDeclaration) -> set[str]:
        """The results of the rule that are used outside its functions."""
        given = {name for what in self.estimates.values() for name in what} | {rule.estimates["V"][3]}
        coefficients = rule.equations().coefficients if rule.updates else []
        return {*given, *rule.keeps, *rule.holds, *rule.row_names(), *coefficients}

    def _renamed(self, algorithm: type[AlgorithmDeclaration], rule: RuleDeclaration) -> dict[str, str]:
        """New names for the numbers of the algorithm that the rule, or one of its functions, calls the same."""
        results = {name for function in rule.phases for name in source.returned(rule.function(function))}
        ours = {*words(rule.parameters), *words(rule.shared), *rule.keeps, *rule.holds, *rule.dots, *results}
        known = {name.lower() for name in ours - {*rule.inputs, *INPUTS}}  # constants are in capital letters
        return renaming.apart(algorithm, known, tuple(self.estimates))

    def _check_names(self, rule: RuleDeclaration) -> None:
        a = self.algorithm
        for what in rule.dots.values():
            left, *rest = what.split(".")
            kept = (*a.keeps, *a.row_names(), "x", "x'")
            if left in self.estimates and rest[0] not in kept:
                who = type(rule).__name__
                raise TypeError(f"lam: {who} needs {rest[0]!r} of the algorithm, which {a.__name__} does not declare")

    def numbers(self, given: Mapping[str, float]) -> dict[str, float]:
        """The numbers of a learner by their names in this model."""
        return {self.renamed.get(name, name): value for name, value in given.items()}

    @property
    def name(self) -> str:
        """The name in file names."""
        rule = "given" if self.rule is None else type(self.rule).__name__
        return f"{self.algorithm.__name__}_{rule}".lower()

    @property
    def title(self) -> str:
        """A readable description."""
        rule = "given λ" if self.rule is None else f"λ by {type(self.rule).__name__}"
        form = ", ".join(f"{k}={v!r}" for k, v in self.constants.items())
        by = "" if self.sizes_by == "constant" else f", step sizes by {self.sizes_by}"
        cut = ", traces cut" if self.corrected else ""
        return f"{self.algorithm.__name__}, {rule}{f' ({form})' if form else ''}{by}{cut}{', mixed' * self.mixed}"

    @cached_property
    def rows(self) -> list[str]:
        """Rows over the learner's features, in their order in memory."""
        return [f"{k}_{row}" for k in self.estimates for row in self.algorithm.row_names()]

    @cached_property
    def set_outside(self) -> list[str]:
        """Names of the rule's numbers that another module sets, because it learns their estimates."""
        dots = {} if self.rule is None else self.rule.dots
        return [name for name, what in dots.items() if what.split(".")[0] in self.apart]

    @cached_property
    def rule_rows(self) -> list[str]:
        """The rule's own rows."""
        return [] if self.rule is None else self.rule.row_names()

    @cached_property
    def over_x(self) -> bool:
        """Whether the rule's rows range over the learner's features."""
        return self.rule is not None and self.rule.over == "x"

    @cached_property
    def constant_numbers(self) -> list[str]:
        """Numbers that do not change while learning."""
        names = [*words(self.algorithm.sizes), *words(self.algorithm.parameters)]
        if self.sizes_by != "constant":
            names += ["offset", "power"]
        return names + ([] if self.rule is None else words(self.rule.parameters))

    @cached_property
    def kept(self) -> list[str]:
        """Numbers kept from step to step, of the estimates and of the rule."""
        own = [] if self.rule is None else [*self.rule.keeps, *self.rule.holds]
        return [f"{k}_{n}" for k in self.estimates for n in (*self.algorithm.keeps, *self.algorithm.holds)] + own

    @cached_property
    def held(self) -> dict[str, float]:
        """Numbers kept across episodes → their initial values."""
        held = {f"{k}_{name}": start for k in self.estimates for name, start in self.algorithm.holds.items()}
        return held | dict(self.rule.holds if self.rule is not None else {})

    @cached_property
    def carried(self) -> dict[str, str]:
        """With a mixed x': kept number → row, for those that start as a dot product row·x.

        Such a number is the product of the row before the step with the next x. Usually `step` computes it as row·x';
        where x' is a mixture, it is row·z.
        """
        begins = {keep: self.algorithm.dots[at] for keep, at in self.algorithm.keeps.items() if isinstance(at, str)}
        return {keep: what.removesuffix(".x") for keep, what in begins.items()} if self.mixed else {}

    @cached_property
    def before(self) -> Phase | None:
        """The function at features before `step`; `results` are the numbers that are summed, without rows."""
        function, rows = self.algorithm.before, self.algorithm.row_names()
        if function is None:
            return None
        results = [name for name in source.returned(function) if name not in rows]
        return Phase("before", self.algorithm.before_at, function, source.arguments(function), results)

    @cached_property
    def reads_next(self) -> bool:
        """Whether a function at features has the argument `x_next`."""
        some = [f for f in (self.algorithm.before, self.algorithm.feature) if f is not None]
        return any("x_next" in source.arguments(f) for f in some)

    @cached_property
    def results(self) -> list[str]:
        """The results of the rule's functions, without rows."""
        return list(dict.fromkeys(n for p in self.phases for n in p.results if n not in self.rule_rows))

    def independent(self) -> tuple[str, ...]:
        """Estimates besides V whose learning does not depend on the rule, so that they may be learned separately."""
        if self.mixture:
            return ()  # a restart copies the weights of another estimate
        free = {*INPUTS[:3], "one", *(words(self.rule.parameters) if self.rule is not None else [])}
        free -= {"reward"} if self.algorithm.center else set()  # a centred reward depends on what V has learned
        return tuple(name for name, given in self.estimates.items() if name != "V" and set(given) <= free)

    def parameter(self, name: str, estimate: str) -> str:
        """The name of a parameter of the algorithm for an estimate; "0.0" if it belongs to V alone (`of_value`)."""
        of_value = estimate == "V" or estimate in self.mixture
        return "0.0" if name in words(self.algorithm.of_value) and not of_value else name

    def without(self, size: str, estimate: str) -> bool:
        """Whether a step size is 0 for an estimate, because the estimate learns by TD(λ) (`by_td`)."""
        return size in words(self.algorithm.correcting) and self.rule is not None and estimate in self.rule.by_td

    @cached_property
    def mixture(self) -> Mapping[str, str]:
        """The estimates that V is a mixture of → the names of their weights; empty if V learns itself."""
        return {} if self.rule is None else self.rule.mixture

    @cached_property
    def learning(self) -> list[str]:
        """Estimates that learn: all but a V that is a mixture."""
        return [name for name in self.estimates if not (self.mixture and name == "V")]

    @cached_property
    def restarting(self) -> list[str]:
        """Estimates that restart from the first of a mixture when they exceed their bounds."""
        return self.learning[1:] if self.mixture else []

    def pinned(self, estimate: str, keep: str) -> float | None:
        """The constant value of a kept number under this rule; None if it is not constant."""
        return None if self.rule is None else self.rule.pins.get(f"{estimate}.{keep}")

    @cached_property
    def outer(self) -> dict[str, str]:
        """Dot products of x and x' among the algorithm's `dots`."""
        return {name: what for name, what in self.algorithm.dots.items() if what in OUTER_DOTS}

    def needed(self) -> list[tuple[str, str, str]]:
        """All dot products (estimate, row, vector), of the algorithm and of the rule, each once."""
        a, first = self.algorithm, words(self.algorithm.weight_rows)[0]
        found = [(k, *what.split(".", 1)) for k in self.learning for what in a.dots.values() if what not in OUTER_DOTS]
        found += [(k, first, "x'") for k in self.estimates if k not in self.restarting]  # checked for divergence
        found += [("V", first, "x")] if "V" in self.estimates else []
        found += [(k, row, "z") for k in self.learning for row in self.carried.values()]
        if self.rule is not None:
            used = {argument for phase in self.phases for argument in phase.arguments}
            for name, what in self.rule.dots.items():
                left, *rest = what.split(".")
                if left in self.estimates and name in used and rest[-1] in ("x", "x'"):
                    found.append((left, first if len(rest) == 1 else rest[0], rest[-1]))
        return list(dict.fromkeys(found))  # type: ignore[arg-type]
