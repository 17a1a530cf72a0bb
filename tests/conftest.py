"""Settings for the tests here."""

import os
import signal
import threading

import pytest
from hypothesis import settings

# The first example may have to wait for the compiler, which says nothing about the code: no deadline.
settings.register_profile("same", deadline=None, derandomize=True)  # `make test` draws the same examples everywhere
settings.register_profile("search", deadline=None, max_examples=1000)  # `make slow`, with --hypothesis-profile=search
settings.load_profile("same")

# A job in the background is deaf to Ctrl-C, and so are its children: tests that press it would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

COSTLY = (
    "test_algorithms.py::test_learners_that_diverge_are_dropped[TrueOnlineGTD",
    "test_algorithms.py::test_copies_and_files_go_on_the_same[Clipped",
    "test_algorithms.py::test_it_keeps_the_contract_of_a_learner[Clipped",
    "test_actor_equations.py::test_by_default_the_actor_has_the_critics_fixed_lambda_or_its_own[AutoTD",
    "test_motion.py::test_agents_are_followed_too",
    "test_attacks.py::test_withstands[kills]",
    "test_algorithms.py::test_its_learners_are_the_learners_and_its_copies_their_averages[TrueOnlineGTD",
    "test_algorithms.py::test_its_learners_are_the_learners_and_its_copies_their_averages[CappedTD",
    "test_algorithms.py::test_it_keeps_the_contract_of_a_learner[TrueOnlineGTD]",
    "test_engine.py::test_the_engine_is_the_agents_step_by_step[TD trace]",
    "test_engine.py::test_the_engine_is_the_agents_step_by_step[gradient]",
    "test_engine.py::test_the_engine_is_the_agents_step_by_step[own]",
    "test_engine.py::test_dropped_traces_hardly_matter[lam2]",
    "test_engine.py::test_divergence_is_noticed_at_the_step_at_which_it_happens[TrueOnlineTD-lam5",
    "test_actor_equations.py::test_the_actor_takes_the_lambda_that_the_critic_has_just_used[rule2]",
    "test_actor_equations.py::test_the_actor_takes_the_lambda_that_the_critic_has_just_used[rule1]",
    "test_actor_equations.py::test_a_trace_with_lambda_0_is_the_one_step_method_bit_for_bit[listed]",
    "test_actor_critic.py::test_the_thesis_agent_is_what_it_says",
    "test_lazy.py::test_it_is_the_ordinary_schedule[momentum",
    "test_lazy.py::test_it_is_the_ordinary_schedule[greedy",
    "test_lazy.py::test_it_is_the_ordinary_schedule[dutch",
    "test_same_as_objects.py::test_engine_is_the_learners_themselves[real-False]",
    "test_same_as_objects.py::test_engine_is_the_learners_themselves[MountainCar-v0-False]",
    "test_sharing.py::test_lanes_with_a_shared_estimate_are_the_learners_themselves[FrozenLake-v0",
    "test_reliability.py::test_threads_and_blocks_do_not_matter_bit_for_bit[FrozenLake-v0]",
    "test_reliability.py::test_the_first_lane_of_a_block_may_diverge",
    "test_few_steps.py::test_a_short_stream_through_both[FrozenLake-v0]",
    "test_equivalences.py::test_many_features_give_what_few_do",
    "test_storage.py::test_goes_on_bit_for_bit[GTD2",
    "test_storage.py::test_goes_on_bit_for_bit[HTD",
    "test_storage.py::test_goes_on_bit_for_bit[PGTD2",
    "test_storage.py::test_goes_on_bit_for_bit[TDRC",
    "test_storage.py::test_goes_on_bit_for_bit[TrueOnlineETD",
    "test_storage.py::test_goes_on_bit_for_bit[VTD-sparse]",
    "test_storage.py::test_goes_on_bit_for_bit[Published",
    "test_storage.py::test_goes_on_bit_for_bit[DifferentialTD",
    "test_check_learner.py::test_our_own_learners[META, horizon",
    "test_check_learner.py::test_our_own_learners[META, another",
    "test_check_learner.py::test_more_features[Fourier",
    "test_published_rules.py::test_they_keep_the_contract",
    "test_published_rules.py::test_its_floor_does_not_know_the_unit_of_rewards",
    "test_adaptive_rules.py::test_any_learner_takes_any_rule",
    "test_aux_alpha.py::test_it_is_a_ratio_with_the_step_size_divided_out[Meta-GTD]",
    "test_aux_alpha.py::test_it_is_a_ratio_with_the_step_size_divided_out[Greedy-GTD]",
    "test_figures.py::test_a_study_of_control_is_of_costs_with_a_map_of_lambda_and_the_figure_in_print",
    "test_figures.py::test_final_lambdas_of_a_car",
    "test_history.py::test_it_is_written_to_a_file_as_its_suffix_says[META-6]",
    "test_history.py::test_it_is_written_to_a_file_as_its_suffix_says[greedy-5]",
    "test_history.py::test_what_is_recorded_is_what_a_learner_driven_by_hand_knows[META, corrected]",
    "test_browser.py::test_control_is_of_costs_with_a_map_and_the_points_of_the_figure",
    "test_contract.py::",
    "test_step_sizes.py::test_step_sizes_driven_to_their_limits",
    "test_step_sizes.py::test_without_meta_steps",
    "test_step_sizes.py::test_autostep",
    "test_corrections.py::test_it_is_the_form_with_two_coefficients[vtrace",
    "test_corrections.py::test_it_is_the_form_with_two_coefficients[retrace",
    "test_step_sizes.py::test_swift_agrees_with_its_equations_over_two_thousand_steps[bound not met]",
    "test_algorithms.py::test_copies_and_files_go_on_the_same[TrueOnlineGTD]",
    "test_algorithms.py::test_copies_and_files_go_on_the_same[CappedTD]",
    "test_algorithms.py::test_it_learns[TrueOnlineGTD]",
    "test_algorithms.py::test_it_learns[CappedTD]",
    "test_algorithms.py::test_it_keeps_the_contract_of_a_learner[CappedTD]",
    "test_lazy.py::test_divergence_is_noticed_at_the_same_step[META]",
    "test_algorithms.py::test_its_learners_are_the_learners_and_its_copies_their_averages[Clipped",
    "test_few_steps.py::test_a_short_stream_through_both[sparse]",
    "test_lazy.py::test_it_is_the_ordinary_schedule[META-False]",
    "test_lazy.py::test_it_is_the_ordinary_schedule[with next",
    "test_lazy.py::test_it_is_the_ordinary_schedule[visits",
    "test_meta_gradient.py::test_auxiliary_learners_converge_to_the_exact_moments_when_lambda_is_frozen[0.35/0.35",
    "test_divergence.py::test_predictions_beyond_all_reason_are_divergence[TrueOnlineGTD]",
    "test_value_error_greedy.py::test_keeps_the_contract[TrueOnlineGTD",
    "test_convergence.py::test_converges_to_the_exact_fixed_point[TD-",
    "test_convergence.py::test_converges_to_the_exact_fixed_point[GTD-",
    "test_convergence.py::test_converges_to_the_exact_fixed_point[TrueOnlineGTD-0.7-R",
    "test_convergence.py::test_converges_to_the_exact_fixed_point[TrueOnlineTD-0.7-F",
    "test_convergence.py::test_variance_learners_converge_to_the_exact_variance[0.6-RingWorld-v0-0.4/0.35-options0-c",
    "test_attacks.py::test_withstands[files]",
    "test_lazy.py::test_it_is_the_ordinary_schedule[TD-",
    "test_lazy.py::test_it_is_the_ordinary_schedule[lasting",
    "test_lazy.py::test_it_is_the_ordinary_schedule[TrueOnlineTD-",
    "test_lazy.py::test_it_is_the_ordinary_schedule[centred",
    "test_lazy.py::test_it_is_the_ordinary_schedule[TrueOnlineGTD-False",
    "test_actor_equations.py::test_softmax_agent_is_its_equations[critic-listed-emphatic]",
    "test_engine.py::test_the_engine_is_the_agents_step_by_step[shared]",
    "test_c.py::test_it_is_the_learner_bit_for_bit[TrueOnlineTD-auto-one-hot",
    "test_c.py::test_it_is_the_learner_bit_for_bit[GTD-greedy-one-hot",
    "test_c.py::test_estimates_of_a_mixture_restart_as_in_python",
    "test_c.py::test_lambda_may_have_features_of_its_own",
    "test_c.py::test_a_copy_of_the_state_is_the_learner_at_that_time",
)
"""Cases that compile models for tens of seconds and whose siblings stay in the quick run: `make slow` runs them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them slow, unless nothing is compiled: `tools/mutate.py` needs every case."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return
    for item in items:
        if any(name in item.nodeid for name in COSTLY):
            item.add_marker(pytest.mark.slow)
