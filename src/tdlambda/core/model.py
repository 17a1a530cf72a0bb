"""A model: an algorithm with a rule for λ and a schedule of step sizes, from which code is generated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from tdlambda.core import source
from tdlambda.core.declare import INPUTS, OUTER_DOTS, Algorithm, Estimate, Rule
from tdlambda.core.names import words


class Phase(NamedTuple):
    """One function of a rule, in the form that a model has."""

    name: str
    where: str
    function: Any
    arguments: list[str]
    results: list[str]


class Model:
    """An algorithm with a rule (None: λ' is given) and a schedule of step sizes; the input of code generation."""

    def __init__(
        self,
        algorithm: type[Algorithm],
        rule: Rule | None = None,
        sizes_by: str = "constant",
        apart: tuple[str, ...] = (),
        corrected: bool = False,
        mixed: bool = False,
    ) -> None:
        self.algorithm, self.rule, self.sizes_by, self.apart = algorithm, rule, sizes_by, apart
        self.corrected = corrected
        """Whether each step brings `cut`, a factor on λ' that depends on the action."""
        self.mixed = mixed
        """Whether x' is a mixture and not what x is at the next step, which is then z: see `carried`."""
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
        return {*given, *rule.keeps, *rule.holds, *rule.row_names(), *coefficients}

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
        cut = ", traces cut" if self.corrected else ""
        return f"{self.algorithm.__name__}, {rule}{f' ({form})' if form else ''}{by}{cut}{', mixed' * self.mixed}"

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
        own = [] if self.rule is None else [*self.rule.keeps, *self.rule.holds]
        return [f"{k}_{n}" for k in self.estimates for n in (*self.algorithm.keeps, *self.algorithm.holds)] + own

    @cached_property
    def held(self) -> dict[str, float]:
        """Numbers kept over episodes, and what a learner begins with."""
        held = {f"{k}_{name}": start for k in self.estimates for name, start in self.algorithm.holds.items()}
        return held | dict(self.rule.holds if self.rule is not None else {})

    @cached_property
    def carried(self) -> dict[str, str]:
        """Kept numbers that begin with a dot product of a row and x: the row's of the step before → the row.

        They are carried on as row·x' where x' is what x is at the next step, and as row·z where it is a mixture.
        """
        begins = {keep: self.algorithm.dots[at] for keep, at in self.algorithm.keeps.items() if isinstance(at, str)}
        return {keep: what.removesuffix(".x") for keep, what in begins.items()} if self.mixed else {}

    @cached_property
    def before(self) -> Phase | None:
        """The function at features before `step`; its results are the numbers it sums, rows left out."""
        function, rows = self.algorithm.before, self.algorithm.row_names()
        if function is None:
            return None
        results = [name for name in source.returned(function) if name not in rows]
        return Phase("before", self.algorithm.before_at, function, source.arguments(function), results)

    @cached_property
    def reads_next(self) -> bool:
        """Whether functions at features ask for x'."""
        some = [f for f in (self.algorithm.before, self.algorithm.feature) if f is not None]
        return any("x_next" in source.arguments(f) for f in some)

    @cached_property
    def results(self) -> list[str]:
        """What the rule's functions return, rows left out."""
        return list(dict.fromkeys(n for p in self.phases for n in p.results if n not in self.own_rows))

    def independent(self) -> tuple[str, ...]:
        """Estimates beside the value that learn alike whatever the rule does: they may be learned apart."""
        if self.mixture:
            return ()  # they take over the weights of another
        free = {*INPUTS[:3], "one", *(words(self.rule.parameters) if self.rule is not None else [])}
        free -= {"reward"} if self.algorithm.center else set()  # then it depends on what the value has learned
        return tuple(name for name, given in self.estimates.items() if name != "V" and set(given) <= free)

    def parameter(self, name: str, estimate: str) -> str:
        """Where an estimate finds a parameter of the algorithm: "0.0" if it is the value's alone."""
        return "0.0" if name in words(self.algorithm.of_value) and estimate != "V" else name

    def without(self, size: str, estimate: str) -> bool:
        """Whether a step size is 0 for an estimate, which learns by TD(λ)."""
        return size in words(self.algorithm.correcting) and self.rule is not None and estimate in self.rule.by_td

    @cached_property
    def mixture(self) -> Mapping[str, str]:
        """Estimates that V is mixed of, and the numbers it is mixed by; empty where V learns."""
        return {} if self.rule is None else self.rule.mixture

    @cached_property
    def learning(self) -> list[str]:
        """Estimates that learn."""
        return [name for name in self.estimates if not (self.mixture and name == "V")]

    @cached_property
    def restarting(self) -> list[str]:
        """Estimates that begin again from the first of a mixture when they leave their bounds."""
        return self.learning[1:] if self.mixture else []

    def pinned(self, estimate: str, keep: str) -> float | None:
        """What a rule holds a kept number at."""
        return None if self.rule is None else self.rule.pins.get(f"{estimate}.{keep}")

    @cached_property
    def outer(self) -> dict[str, str]:
        """Dot products of x and x' that the algorithm asks for."""
        return {name: what for name, what in self.algorithm.dots.items() if what in OUTER_DOTS}

    def needed(self) -> list[tuple[str, str, str]]:
        """All dot products (estimate, row, vector), of the algorithm and of the rule, each once."""
        a, first = self.algorithm, words(self.algorithm.weight_rows)[0]
        found = [(k, *what.split(".", 1)) for k in self.estimates for what in a.dots.values() if what not in OUTER_DOTS]
        found += [(k, first, "x'") for k in self.estimates]  # predictions are looked at for divergence
        found.append(("V", first, "x"))
        found += [(k, row, "z") for k in self.estimates for row in self.carried.values()]
        if self.rule is not None:
            used = {argument for phase in self.phases for argument in phase.arguments}
            for name, what in self.rule.dots.items():
                left, *rest = what.split(".")
                if left in self.estimates and name in used and rest[-1] in ("x", "x'"):
                    found.append((left, first if len(rest) == 1 else rest[0], rest[-1]))
        return list(dict.fromkeys(found))  # type: ignore[arg-type]
