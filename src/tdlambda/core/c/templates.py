"""Text of the C files that no declaration changes. `{name}` is the prefix of all public names, `{NAME}` in capitals."""

HEADER = """/* {title}
 *
 * Written by tdlambda {version}. The state begins where the learner stood after {steps} updates. C99, no allocation.
 *
 *     {name} v;
 *     {name}_init(&v);
 *     {name}_update(&v, obs, reward, next_obs, gamma, rho{behavior_given}, {NAME}_TERMINATED);
 *     double value = {name}_predict(&v, obs);
 *
 * gamma is the discount on entering next_obs; the last argument is 0 where the episode goes on. The state is one
 * struct: copy it to save it. To compute the same bits as in Python, compile without contraction
 * (gcc: -ffp-contract=off) and without -ffast-math.
 */
#ifndef {NAME}_H
#define {NAME}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {NAME}_SIZE {size} /* features */
#define {NAME}_RULE_SIZE {z_size} /* features that lambda depends on */
#define {NAME}_ACTIVE {active} /* active features of an observation */
{dimensions}
enum {{ {NAME}_TERMINATED = 1, {NAME}_TRUNCATED = 2 }};
/* What was wrong with an update, which then changed nothing; or that the learner has just diverged. */
enum {{
    {NAME}_OK, {NAME}_REWARD, {NAME}_GAMMA, {NAME}_RHO, {NAME}_OBS, {NAME}_NEXT_OBS, {NAME}_OBS_VALUES,
    {NAME}_NEXT_OBS_VALUES, {NAME}_BEHAVIOR, {NAME}_DIVERGED
}};

typedef struct {{
{fields}}} {name};

/* Set the state to that of the learner in Python. */
void {name}_init({name} *self_);

/* V(obs); NAN if the observation is invalid. */
double {name}_predict(const {name} *self_, {obs});

/* Learn from one transition. */
int {name}_update(
    {name} *self_, {obs}, double reward, {next_obs}, double gamma, double rho{behavior}, int ended);

/* Forget the traces: the next update begins an episode. */
void {name}_reset({name} *self_);

/* The same for features that the program computes itself: indices, values and number of the active ones of x and x'
 * {z_said}, and lambda at x'. */
double {name}_value(const {name} *self_, const int32_t *x_, const double *xv_, int32_t n_);
int {name}_learn(
    {name} *self_, const int32_t *x_, const double *xv_, int32_t n_, const int32_t *y_, const double *yv_,
    int32_t n_next_, {z}double reward, double gamma_next, double rho, double lam_next{cut}, int ended_);

#ifdef __cplusplus
}}
#endif

#endif
"""

RUNTIME = """#include "{name}.h"
#include <math.h>

typedef char td_double_has_64_bits[sizeof(double) == 8 ? 1 : -1];

static inline double td_min(double a, double b) {{ return b < a ? b : a; }}
static inline double td_max(double a, double b) {{ return b > a ? b : a; }}

static inline double td_dot(const double *row, const int32_t *x, const double *xv, int32_t n)
{{
    double total = 0.0;
    for (int32_t j = 0; j < n; j++) total += xv[j] * row[x[j]];
    return total;
}}

static int td_check(const int32_t *x, const double *xv, int32_t n, int32_t size, int bad_index, int bad_value)
{{
    double norm = 0.0;
    for (int32_t j = 0; j < n; j++) {{
        if (x[j] < 0 || x[j] >= size) return bad_index;
        norm += xv[j] * xv[j];
    }}
    return norm < INFINITY ? {NAME}_OK : bad_value;
}}

static double td_allowed({name} *s, double reward, double gamma_next, double rho, const double *yv, int32_t n)
{{
    double ahead, scale;
    s->most_reward = td_max(s->most_reward, fabs(reward));
    s->most_gamma = td_max(s->most_gamma, gamma_next);
    s->most_rho = td_max(s->most_rho, rho);
    s->length = s->under_way ? s->length + 1 : 1;
    if (s->length > s->longest) s->longest = s->length;
    ahead = 10.0 * (double)s->longest;
    if (s->most_gamma < 1.0) ahead = td_min(ahead, 1.0 / (1.0 - s->most_gamma));
    scale = s->most_reward * ahead;
    if (s->start > 0.0) {{
        double y1 = 0.0;
        for (int32_t j = 0; j < n; j++) y1 += fabs(yv[j]);
        scale += s->start * y1;
    }}
    return s->factor * scale;
}}

static void td_confine(double *row, double bound)
{{
    for (int32_t f = 0; f < {NAME}_SIZE; f++)
        if (!(fabs(row[f]) < INFINITY)) row[f] = row[f] > 0 ? bound : row[f] < 0 ? -bound : 0.0;
}}
"""

ONCE = {
    "td_squared": """static inline double td_squared(const double *xv, int32_t n)
{
    double total = 0.0;
    for (int32_t j = 0; j < n; j++) total += xv[j] * xv[j];
    return total;
}
""",
    "td_increasing": """static inline int td_increasing(const int32_t *x, int32_t n)
{
    for (int32_t j = 1; j < n; j++)
        if (x[j] <= x[j - 1]) return 0;
    return 1;
}
""",
    "td_gathered": """static inline double td_gathered(const int32_t *x, const double *xv, int32_t j, int32_t n)
{
    double total = 0.0;
    for (int32_t i = j; i < n; i++)
        if (x[i] == x[j]) total += xv[i];
    return total;
}
""",
    "td_value_at": """static inline double td_value_at(
    const int32_t *x, const double *xv, int32_t n, int32_t f, int32_t guess)
{
    double total = 0.0;
    if (guess < n && x[guess] == f && td_increasing(x, n)) return xv[guess];
    for (int32_t j = 0; j < n; j++)
        if (x[j] == f) total += xv[j];
    return total;
}
""",
    "td_norm": """static double td_norm(const int32_t *x, const double *xv, int32_t n)
{
    double total = 0.0;
    if (td_increasing(x, n)) return td_squared(xv, n);
    for (int32_t j = 0; j < n; j++) {
        int seen = 0;
        for (int32_t i = 0; i < j; i++) seen |= x[i] == x[j];
        if (!seen) {
            const double value = td_gathered(x, xv, j, n);
            total += value * value;
        }
    }
    return total;
}
""",
    "td_cross": """static double td_cross(
    const int32_t *x, const double *xv, int32_t n, const int32_t *y, const double *yv, int32_t n_next)
{
    double total = 0.0;
    for (int32_t j = 0; j < n; j++) total += xv[j] * td_value_at(y, yv, n_next, x[j], j);
    return total;
}
""",
    "td_mean_visits": """static double td_mean_visits(double *visits, const int32_t *x, const double *xv, int32_t n)
{
    double count = 0.0, norm = 0.0;
    for (int32_t j = 0; j < n; j++)
        if (xv[j] != 0) visits[x[j]] += 1;
    for (int32_t j = 0; j < n; j++) {
        count += xv[j] * xv[j] * visits[x[j]];
        norm += xv[j] * xv[j];
    }
    return norm > 0 ? count / norm : 1.0;
}
""",
    "td_enliven": """static int64_t td_enliven(
    int32_t *order, int32_t *listed, int64_t n_live, const int32_t *x, int32_t n)
{
    for (int32_t j = 0; j < n; j++)
        if (!listed[x[j]]) {
            listed[x[j]] = 1;
            order[n_live++] = x[j];
        }
    return n_live;
}
""",
}
"""Functions that some steps need, each after those that it calls."""
NEEDS = {
    "td_norm": ("td_squared", "td_increasing", "td_gathered"),
    "td_cross": ("td_increasing", "td_value_at"),
    "td_value_at": ("td_increasing",),
}

LEARN = """int {name}_learn(
    {name} *self_, const int32_t *x_, const double *xv_, int32_t n_, const int32_t *y_, const double *yv_,
    int32_t n_next_, {z}double reward, double gamma_next, double rho, double lam_next{cut}, int ended_)
{{
    const int terminated_ = (ended_ & {NAME}_TERMINATED) != 0, truncated_ = (ended_ & {NAME}_TRUNCATED) != 0;
    const int fresh_ = self_->under_way == 0;
    const int32_t n_given_ = n_next_;
    int within_ = 1, status_;
    double limit_;
    if (!(fabs(reward) < INFINITY)) return {NAME}_REWARD;
    if (!(0.0 <= gamma_next && gamma_next <= 1.0)) return {NAME}_GAMMA;
    if (!(0.0 <= rho && rho < INFINITY)) return {NAME}_RHO;
    status_ = td_check(x_, xv_, n_, {NAME}_SIZE, {NAME}_OBS, {NAME}_OBS_VALUES);
    if (!status_) status_ = td_check(y_, yv_, n_next_, {NAME}_SIZE, {NAME}_NEXT_OBS, {NAME}_NEXT_OBS_VALUES);
{check_z}    if (status_) return status_;
    if (self_->diverged_at >= 0) return {NAME}_OK;
{body}    self_->under_way = 1;
    if (terminated_ || truncated_) {name}_reset(self_);
    if (!within_) {{
        self_->diverged_at = self_->steps;
{confined}        return {NAME}_DIVERGED;
    }}
    (void)fresh_; (void)n_given_; (void)lam_next;
    return {NAME}_OK;
}}
"""
CHECK_Z = """    if (!status_)
        status_ = td_check(z_, zv_, n_z_, {NAME}_RULE_SIZE, {NAME}_NEXT_OBS, {NAME}_NEXT_OBS_VALUES);
"""

VALUE = """double {name}_value(const {name} *self_, const int32_t *x_, const double *xv_, int32_t n_)
{{
    return td_dot({row}, x_, xv_, n_);
}}
"""

ENTRY_POINTS = """double {name}_predict(const {name} *self_, {obs})
{{
    int32_t x_[{NAME}_ACTIVE];
    double xv_[{NAME}_ACTIVE];
    if (td_encode(obs, x_, xv_)) return NAN;
    return {name}_value(self_, x_, xv_, {NAME}_ACTIVE);
}}

int {name}_update(
    {name} *self_, {obs}, double reward, {next_obs}, double gamma, double rho{behavior}, int ended)
{{
    int32_t x_[{NAME}_ACTIVE], y_[{NAME}_ACTIVE]{z_index};
    double xv_[{NAME}_ACTIVE], yv_[{NAME}_ACTIVE]{z_value};
    if (td_encode(obs, x_, xv_)) return {bad};
    if (td_encode(next_obs, y_, yv_){encode_z}) return {bad_next};
{corrected}    return {name}_learn(
        self_, x_, xv_, {NAME}_ACTIVE, y_, yv_, {NAME}_ACTIVE, {z_given}reward, gamma, {rho}, {lam}{cut}, ended);
}}
"""
