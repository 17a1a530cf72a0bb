"""The laboratory on top of the library: studies, reports, the reproduction of Zhao (2020) and the command line.

`td.studies`, `td.report` and `td.reproduction` are the public names of its packages. Nothing below imports it; names
that the library may meet in a file are found through `tdlambda.registry`.
"""
