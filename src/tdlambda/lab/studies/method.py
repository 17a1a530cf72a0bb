"""A method of a study, and the source of its λ in each cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tdlambda.lab.studies.building import SELF_TUNING, default_lam
from tdlambda.lab.studies.field_checks import Check, check_over, names, optional, plain, text, validate
from tdlambda.rules import NAMED
from tdlambda.showing import says_arguments

_FIXED = ("Fixed", "PerState")
"""Rules that do not learn."""
_CHECKS: dict[str, Check] = {"learner": text, "rule": optional(text), "options": plain, "truth": text, "about": text}


@says_arguments
@dataclass(frozen=True)
class Method:
    """A method of a study: a learner and a rule for λ, over a grid of parameters.

    Parameters
    ----------
    learner
        Name of a learner, such as "TrueOnlineTD" or "AutoTD", or "module:name" for your own. In control, the critic.
    rule
        Name of a rule for λ: "auto", "meta", "greedy", or a class such as "Greedy" or "Meta.thesis". Without a rule, λ
        is the learner's `lam`: a number, or one of the first three names.
    over
        Names from the study's grid; there is a cell for each combination of their values.
    options
        Further arguments of the learner and the rule. If both have an argument of the same name, write "rule.name" or
        "learner.name". An encoder or a schedule is a table with its type: `{type = "OneHot", n = 16}`. In control also
        arguments of the actor, such as "eta", or "actor.name" if the critic has an argument of that name.
    truth
        Values to measure the error against: "exact" (sampled if there is no model) or "thesis" (as in Zhao 2020).
    about
        One-line description.

    Examples
    --------
    >>> import tdlambda as td
    >>> meta = td.studies.Method("TrueOnlineTD", rule="Meta", over=("alpha",), options={"kappa": 0.01,
    ...     "rule.horizon": "episode"})
    >>> study = td.studies.Study("walk", "RandomWalk-v0", {"META": meta}, grid={"alpha": [0.01, 0.1]})
    >>> [(learner.alpha, learner.rule.kappa, learner.rule.horizon) for learner in study.learners("META")]
    [(0.01, 0.01, 'episode'), (0.1, 0.01, 'episode')]
    """

    learner: str
    rule: str | None = None
    over: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    truth: str = "exact"
    about: str = ""

    def __post_init__(self) -> None:
        """Validate the names of the grid; the other fields are validated with the study."""
        object.__setattr__(self, "over", names(self.over, "over"))

    def check(self, where: str, grid: Mapping[str, Any]) -> None:
        """Validate the fields against the study's grid; names are resolved when learners are built."""
        validate(self, _CHECKS, f"{where}.")
        check_over(self.over, self.options, grid, where)

    @property
    def modules(self) -> dict[str, str]:
        """The user's modules that contain its learner and its rule."""
        named = {"learner": self.learner, "rule": self.rule}
        return {what: name.rpartition(":")[0] for what, name in named.items() if name is not None and ":" in name}

    def settings(self, cell: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
        """The rule for λ in a cell (or None) and all other options; `lam = "auto"` means `rule = "auto"`."""
        options = {**self.options, **cell}
        for name in ("lam", "learner.lam"):
            lam = options.get(name)
            if self.rule is None and isinstance(lam, str) and lam in NAMED:
                del options[name]
                return lam, options
        return self.rule, options

    def fixed_lam(self, cell: Mapping[str, Any]) -> bool:
        """Whether λ in a cell is given and constant: a number, or one for each state.

        >>> Method("TD", options={"lam": 0.5}).fixed_lam({}), Method("TD", "auto").fixed_lam({})
        (True, False)
        >>> [Method("TD", over=("lam",)).fixed_lam({"lam": lam}) for lam in (0.5, "auto")]
        [True, False]
        >>> Method("AutoTD").fixed_lam({})
        False
        """
        rule, options = self.settings(cell)
        if rule is not None:
            return rule in _FIXED
        lam = options.get("lam", options.get("learner.lam", default_lam(self.learner)))
        return lam is not None and not isinstance(lam, str)

    def family(self, cell: Mapping[str, Any]) -> str:
        """How a cell chooses λ: "fixed λ", "tunes itself", or "other" for a learner without λ.

        >>> [Method(name).family({}) for name in ("TD", "AutoTD", "MonteCarlo")]
        ['fixed λ', 'tunes itself', 'other']
        """
        if self.fixed_lam(cell):
            return "fixed λ"
        return "tunes itself" if self.settings(cell)[0] is not None or self.learner in SELF_TUNING else "other"
