"""Families of experts, one file each; `expert_table` says which of them stand in an AutoTD."""
