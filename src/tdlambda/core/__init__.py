"""Declarations of algorithms and rules for λ, and the schedules that generate machine code from them."""
