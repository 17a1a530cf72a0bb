"""Schedules: functions from a `Model` to the text of a module that adds loops to the declarations.

    one      one learner, for updates from Python; with all features, or with a list of live features
    lanes    many learners on one stream; the loops over learners, the lanes, are innermost and run as vectors
    lazy     one learner whose cost per step does not grow with the number of live features, for compiled agents

No algorithm is named here. Terms that all schedules and the generated code share:

    estimate        a prediction that the model learns: V, and those that a rule adds; k is its name or its index
    row             one number per feature: the weights of an estimate (V_w), its trace (V_e), or a row of the rule
    active feature  a feature in the encoding of x; a live feature has a trace that is not negligible
    coefficient     a number that `step` returns, and that the equations multiply with a row or with x
    kept number     a number of an estimate or a rule that is passed on from step to step
    bound, top      the largest weight allowed; a bound on the largest entry that a row can have by now

Names in generated code that end with _ belong to the schedule, all others to the declarations:

    x_, xv_, n_             indices and values of the active features of x, and their number
    y_, yv_, n_next_        the same for x'; n_next_ is 0 on termination, unless the algorithm `reads_terminal`
    z_, zv_                 the same for the features at x' that λ depends on
    state_, s_              a record of the learner's numbers and counters
    rows_, own_             rows of the estimates; rows of the rule
    order_, listed_         the live features are order_[:n_live_]; listed_[f] & 1 says whether f is among them
    fresh_, within_         whether an episode begins with this step; whether weights and predictions are within bounds
"""
