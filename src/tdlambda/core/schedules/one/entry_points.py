"""Text of a generated module's entry points, which Python calls. They validate all inputs before anything changes.

`update_vector` calls `update`, so that `learn` is compiled once for both; into loops over transitions it is inlined.
"""

REST = """\
            reward[t_], gamma[t_], rho[t_], lam[min(t_, lam.size - 1)]{cut_t}, terminated_[t_], truncated_[t_],
        )
        if status_ != OK:
            return status_, t_
    return OK, 0
"""
"""The rest of a loop over transitions, after `status_ = learn(` and the features."""

ENTRY_POINTS = '''@inlined
def check_step(s_, x_, xv_, y_, yv_, z_, zv_):
    """Whether a transition's features are valid, as a status code."""
    status_ = check_features(x_, xv_, s_.size, OBS, OBS_VALUES)
    status_ = status_ or check_features(y_, yv_, s_.size, NEXT_OBS, NEXT_OBS_VALUES)
{check_z}    return status_


@brief
def update({given}, x_, xv_, y_, yv_, z_, zv_, reward, gamma, rho, lam{cut}, ended_):
    """Learn from one transition between feature vectors x and x'."""
    status_ = check(reward, gamma, rho) or (IN_USE if state_[0].busy else OK)
    status_ = status_ or check_step(state_[0], x_, xv_, y_, yv_, z_, zv_)
    if status_ != OK:
        return status_
    return learn(
        {passed}, x_, xv_, y_, yv_, z_, zv_, reward, gamma, rho, lam{cut},
        ended_ & TERMINATED != 0, ended_ & TRUNCATED != 0,
    )


@brief
def update_index({given}, lam{cut}, s_, s_next_, reward, gamma, rho, ended_):
    """Learn from one transition between one-hot states."""
    if not 0 <= s_ < state_[0].size:
        return OBS
    if not 0 <= s_next_ < state_[0].size:
        return NEXT_OBS
    status_ = check(reward, gamma, rho) or (IN_USE if state_[0].busy else OK)
    if status_ != OK:
        return status_
    x_, y_, one_ = (s_,), (s_next_,), (1.0,)
    return learn(
        {passed}, x_, one_, y_, one_, y_, one_, reward, gamma, rho, lam{cut},
        ended_ & TERMINATED != 0, ended_ & TRUNCATED != 0,
    )


@kernel
def update_many(
    {given}, x_, xv_, y_, yv_, z_, zv_, reward, gamma, rho, lam{cut}, terminated_, truncated_
):
    """Learn from transitions in order, after validating all; one λ for each, or one for all. Return (status, row)."""
    status_, at_ = first_bad(reward, gamma, rho)
    if status_ != OK:
        return status_, at_
    for t_ in range(reward.size):
        status_ = check_step(state_[0], x_[t_], xv_[t_], y_[t_], yv_[t_], z_[t_], zv_[t_])
        if status_ != OK:
            return status_, t_
    for t_ in range(reward.size):
        status_ = learn(
            {passed}, x_[t_], xv_[t_], y_[t_], yv_[t_], z_[t_], zv_[t_],
{rest}

@kernel
def update_many_indices(
    {given}, s_, s_next_, reward, gamma, rho, lam{cut}, terminated_, truncated_
):
    """The same for one-hot states."""
    status_, at_ = first_bad(reward, gamma, rho)
    if status_ != OK:
        return status_, at_
    for t_ in range(reward.size):
        if not 0 <= s_[t_] < state_[0].size:
            return OBS, t_
        if not 0 <= s_next_[t_] < state_[0].size:
            return NEXT_OBS, t_
    for t_ in range(reward.size):
        x_, y_, one_ = (s_[t_],), (s_next_[t_],), (1.0,)
        status_ = learn(
            {passed}, x_, one_, y_, one_, y_, one_,
{rest}

@brief
def reset({given}):
    """Set the traces to 0."""
    clear({passed})
'''


VECTORS = '''@brief
def update_vector({given}, room_, index_, lam{cut}, obs_, next_obs_, reward, gamma, rho, ended_):
    """Learn from one transition between observations that are vectors, which are encoded here."""
    n_ = index_.shape[1]
    if obs_.size != state_[0].dimensions or next_obs_.size != state_[0].dimensions:
        return OBS_VALUES
    numbers_, xv_, yv_ = room_[2 * n_ :], room_[:n_], room_[n_ : 2 * n_]
    status_ = check(reward, gamma, rho) or (IN_USE if state_[0].busy else OK)  # before `encode` writes to the buffers
    if status_ != OK:
        return status_
    if encode(obs_, numbers_, index_[0], xv_) != 0:
        return OBS_VALUES
    if encode(next_obs_, numbers_, index_[1], yv_) != 0:
        return NEXT_OBS_VALUES
    x_, y_ = index_[0], index_[1]
    return update({given}, x_, xv_, y_, yv_, y_, yv_, reward, gamma, rho, lam{cut}, ended_)


@kernel
def update_many_vectors(
    {given}, room_, index_, obs_, next_obs_, reward, gamma, rho, lam{cut}, terminated_, truncated_
):
    """`update_many` for observations that are vectors; each is encoded twice, to validate it and to learn from it."""
    n_ = index_.shape[1]
    numbers_, x_, xv_, y_, yv_ = room_[2 * n_ :], index_[0], room_[:n_], index_[1], room_[n_ : 2 * n_]
    status_, at_ = first_bad(reward, gamma, rho)
    if status_ != OK:
        return status_, at_
    for t_ in range(reward.size):
        if encode(obs_[t_], numbers_, x_, xv_) != 0:
            return OBS_VALUES, t_
        if encode(next_obs_[t_], numbers_, y_, yv_) != 0:
            return NEXT_OBS_VALUES, t_
    for t_ in range(reward.size):
        encode(obs_[t_], numbers_, x_, xv_)
        encode(next_obs_[t_], numbers_, y_, yv_)
        status_ = learn(
            {passed}, x_, xv_, y_, yv_, y_, yv_,
{rest}

@brief
def predict_vector(state_, rows_, room_, index_, obs_):
    """V of an observation that is a vector; NaN if the observation is invalid."""
    n_ = index_.shape[1]
    if obs_.size != state_[0].dimensions or encode(obs_, room_[2 * n_ :], index_[0], room_[:n_]) != 0:
        return np.nan
    return dot(rows_[0], index_[0], room_[:n_], n_)
'''
