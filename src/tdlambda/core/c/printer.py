"""The printer of C: a step, with the state of a learner, as a header and one C99 file without allocation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tdlambda.core import step as ir
from tdlambda.core.c.c_rows import block, over, text
from tdlambda.core.c.encoders import CEncoder, c_encoder
from tdlambda.core.c.functions import NoCError, c_name, literal
from tdlambda.core.c.operations import Operations
from tdlambda.core.c.templates import CHECK_Z, ENTRY_POINTS, HEADER, LEARN, NEEDS, ONCE, RUNTIME, VALUE
from tdlambda.core.runtime import COUNTERS, LIMITS
from tdlambda.features import Encoder

COUNTS = [name for name in COUNTERS if name not in ("busy", "dimensions", "size", "z_size")]
"""Counters that the state has in C."""


@dataclass(frozen=True)
class Exported:
    """A learner to be written in C: its step, and all of its present state."""

    step: ir.Step
    features: Encoder
    rule_features: Encoder
    """Features that λ depends on."""
    sparse: bool
    numbers: Mapping[str, float]
    """Parameters, kept numbers and counters."""
    rows: Mapping[ir.Row, Any]
    visits: Any
    """Visits of each feature, if step sizes depend on them."""
    live: Any
    """The live features, in their order."""
    lam: Any
    """λ: a number, or one number for each state."""
    correction: tuple[Any, tuple[float, ...]] | None
    """The function of (ρ, π, b, c̄, ρ̄, ψ) that corrects traces, and its last three arguments."""
    needs_behavior: bool
    """Whether the correction depends on the behaviour policy's probability."""
    version: str


class Member(NamedTuple):
    """A member of the state: its type in C, its name, and its length, 0 for a number."""

    kind: str
    name: str
    size: int


def generate(learner: Exported, name: str) -> tuple[str, str]:
    """The texts of the header and of the C file; TypeError says what C cannot have."""
    return _File(learner, name).texts()


def members(learner: Exported) -> list[Member]:
    """The members of the state of a learner in C."""
    return _File(learner, "learner").members()


class _File(Operations):
    """The text of both files, part by part."""

    def __init__(self, learner: Exported, name: str) -> None:
        super().__init__(learner.step, learner.sparse, name.upper())
        self.learner, self.name = learner, name
        self.encoder = c_encoder(learner.features, "td_encode")
        self.own_z = learner.rule_features is not learner.features
        self.z_encoder: CEncoder | None = c_encoder(learner.rule_features, "td_encode_z") if self.own_z else None
        z = self.z_encoder
        if z is not None and (z.obs, z.dimensions) != (self.encoder.obs, self.encoder.dimensions):
            raise NoCError("features of the rule: they must encode the same observations as the learner's features")
        if not isinstance(learner.lam, float) and self.encoder.dimensions:
            raise NoCError("lam: one number for each state needs OneHot features")

    def texts(self) -> tuple[str, str]:
        """The header and the C file."""
        learner, step = self.learner, self.step
        body = self.body()
        names = {"name": self.name, "NAME": self.NAME, **self._arguments()}
        z = "const int32_t *z_, const double *zv_, int32_t n_z_,\n    " if self.ruled else ""
        learn = LEARN.format(
            z=z, cut=names["cut"], body=text(body), check_z=CHECK_Z.format(**names) if self.ruled else "",
            confined=text([f"td_confine({self.row(r)}, self_->bound);" for r in step.only(ir.Stop).rows], 2),
            name=self.name, NAME=self.NAME,
        )  # fmt: skip
        needed = {n for used in self.used for n in [used, *NEEDS.get(used, ())]}
        needed |= {n for used in list(needed) for n in NEEDS.get(used, ())}
        entry_points = self._entry_points(names)
        parts = [RUNTIME.format(**names), *(once for key, once in ONCE.items() if key in needed)]
        parts += [*self.functions.texts.values(), *self.parts.values(), *self._init(), self._reset()]
        parts += [VALUE.format(row=self.row(step.rows[0]), **names), learn, *self._encoders(), entry_points]
        dimensions = f"#define {self.NAME}_DIMENSIONS {self.encoder.dimensions} /* numbers of an observation */\n"
        head = HEADER.format(
            title=step.title.replace("*/", "* /"), version=learner.version, steps=int(learner.numbers["steps"]),
            size=learner.features.size, z_size=learner.rule_features.size, active=learner.features.active,
            dimensions=dimensions if self.encoder.dimensions else "", fields=text(self._fields()), z=z,
            z_said="(and of z, the features at x' that lambda depends on)" if self.ruled else "", **names,
        )  # fmt: skip
        return head, "\n".join(parts)

    def _arguments(self) -> dict[str, str]:
        """Declarations of arguments."""
        behavior = self.learner.needs_behavior
        return {
            "obs": self.encoder.obs.format("obs"),
            "next_obs": self.encoder.obs.format("next_obs"),
            "behavior": ", double behavior" if behavior else "",
            "behavior_given": ", behavior" if behavior else "",
            "cut": ", double cut" if "cut" in self.step.inputs else "",
        }

    # ---- the state ---------------------------------------------------------------------------------------------------

    def _floats(self) -> list[str]:
        step = self.step
        return list(dict.fromkeys([*step.parameters, *step.shared, *LIMITS, *step.slots]))

    def members(self) -> list[Member]:
        """The members of the state, in their order."""
        learner, step, size = self.learner, self.step, self.learner.features.size
        width = size if step.rule_rows_over_x else learner.rule_features.size
        found = [Member("double", c_name(name), 0) for name in self._floats()]
        found += [Member("int64_t", name, 0) for name in COUNTS]
        found += [Member("double", self.member(r), size if r.of else width) for r in (*step.rows, *step.rule_rows)]
        found += [Member("double", "visits_", size)] if learner.visits is not None else []
        return found + ([Member("int32_t", name, size) for name in ("order_", "listed_")] if self.sparse else [])

    def _fields(self) -> list[str]:
        return [f"{kind} {name}{f'[{size}]' if size else ''};" for kind, name, size in self.members()]

    def _init(self) -> list[str]:
        """The function that sets the state, and the arrays that it copies."""
        learner, lines, arrays = self.learner, [f"*self_ = ({self.name}){{0}};"], []
        for name in [*self._floats(), *COUNTS]:
            number = learner.numbers.get(name, 0.0)
            if number:
                lines.append(f"self_->{c_name(name)} = {int(number) if name in COUNTS else literal(number)};")
        rows = {self.member(row): np.asarray(values) for row, values in learner.rows.items()}
        rows |= {"visits_": np.asarray(learner.visits)} if learner.visits is not None else {}
        for member, values in rows.items():
            nonzero = np.flatnonzero(values)
            if nonzero.size == 0:
                continue
            if (values == values[0]).all():
                lines.append(f"{over(str(values.size), 'f_')} self_->{member}[f_] = {literal(values[0])};")
                continue
            kept = values[nonzero]
            at = "f_"
            if 3 * nonzero.size < 2 * values.size:  # an index takes 4 bytes, a number 8
                arrays.append(_array("int32_t", f"{member}at", nonzero.tolist()))
                at = f"{member}at[f_]"
            else:
                kept = values
            arrays.append(_array("double", f"{member}start", [literal(v) for v in kept.tolist()]))
            lines.append(f"{over(str(kept.size), 'f_')} self_->{member}[{at}] = {member}start[f_];")
        if self.sparse and len(learner.live):
            arrays.append(_array("int32_t", "order_start", np.asarray(learner.live).tolist()))
            each = ["self_->order_[f_] = order_start[f_];", "self_->listed_[order_start[f_]] = 1;"]
            lines += block(over(str(len(learner.live)), "f_"), *each)
        return [*arrays, f"void {self.name}_init({self.name} *self_)\n{{\n{text(lines)}}}\n"]

    def _reset(self) -> str:
        op, lines = self.step.only(ir.Clear), ["self_->under_way = 0;"]
        if self.sparse:
            each = [f"{self.row(r)}[f_] = 0.0;" for r in op.rows] + ([] if op.lasts else ["self_->listed_[f_] = 0;"])
            lines += self.over_live([*each, "(void)f_;"])
            lines += [] if op.lasts else ["self_->n_live = 0;"]
        else:
            lines += [f"{over(self.width(r), 'f_')} {self.row(r)}[f_] = 0.0;" for r in op.rows]
        return f"void {self.name}_reset({self.name} *self_)\n{{\n{text(lines)}}}\n"

    # ---- observations ------------------------------------------------------------------------------------------------

    def _encoders(self) -> list[str]:
        return [self.encoder.text, *([self.z_encoder.text] if self.z_encoder is not None else [])]

    def _entry_points(self, names: dict[str, str]) -> str:
        """`predict` and `update`, for observations."""
        learner, NAME = self.learner, self.NAME
        values = "_VALUES" if self.encoder.dimensions else ""
        size = learner.rule_features.active
        lam = literal(learner.lam) if isinstance(learner.lam, float) else "lambda_[next_obs]"
        head = "" if isinstance(learner.lam, float) else _array("double", "lambda_", list(map(literal, learner.lam)))
        own = self.ruled and self.own_z
        z = f"z_, zv_, {size}, " if own else f"y_, yv_, {NAME}_ACTIVE, " if self.ruled else ""
        corrected, rho, cut = "", "rho", ""
        if learner.correction is not None:
            corrected, rho, cut = self._corrected(*learner.correction), "kappa_", ", cut_"
        body = ENTRY_POINTS.format(
            bad=f"{NAME}_OBS{values}", bad_next=f"{NAME}_NEXT_OBS{values}", lam=lam, rho=rho, z_given=z,
            z_index=f", z_[{size}]" if own else "", z_value=f", zv_[{size}]" if own else "",
            encode_z=" || td_encode_z(next_obs, z_, zv_)" if own else "", corrected=corrected,
            **{key: value for key, value in names.items() if key != "cut"}, cut=cut,
        )  # fmt: skip
        return f"{head}\n{body}" if head else body

    def _corrected(self, formula: Any, options: tuple[float, ...]) -> str:
        """Code for the correction of the traces."""
        name = self.functions.helper(formula.__name__, formula)
        given = ", ".join(map(literal, options))
        lines = ["double c_, kappa_, cut_;", f"if (!(0.0 <= rho && rho < INFINITY)) return {self.NAME}_RHO;"]
        behavior = "1.0"
        if self.learner.needs_behavior:
            behavior = "behavior"
            lines.append(f"if (!(0.0 < behavior && behavior <= 1.0)) return {self.NAME}_BEHAVIOR;")
        lines.append(f"{name}(rho, rho * {behavior}, {behavior}, {given}, &c_, &kappa_);")
        return text([*lines, "cut_ = kappa_ > 0.0 ? c_ / kappa_ : 0.0;"])


def _array(kind: str, name: str, values: list[Any]) -> str:
    """A constant array, some numbers per line."""
    rows = [values[i : i + 8] for i in range(0, len(values), 8)]
    body = "".join(f"    {', '.join(map(str, row))},\n" for row in rows)
    return f"static const {kind} {name}[{len(values)}] = {{\n{body}}};\n"
