#!/bin/sh
# Every variant of the bank, one change at a time, on development tasks and seeds: docs/how-we-chose.md quotes this.
base="shrink=1.5 bounded=0 prior=1"
set --
for change in "" "zhat=0" "zhat=1" "eta=0.5" "eta=1" "cut=1" "zfloor=0.02" "zfloor=0.3" \
  "shrink=1" "shrink=2" "shrink=3" "window=1" "window=2" "window=6" "heat=0.5" "heat=2" \
  "prior=0" "prior=2" "centre=0" "centre=1" "centre=4" "top=0.3" "pace=1" "pace=1.5" "pace=3" "detect=0" "restart=4" \
  "shrink=1 bounded=1" "shrink=1 bounded=1 prior=2"; do
  set -- "$@" "$base $change"
done
exec "${PYTHON:-python}" "$(dirname "$0")/bank.py" --steps 100000 --tasks walk lake ring4 ring2 garnet0 episodic -- "$@"
