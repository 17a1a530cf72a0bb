"""Every algorithm ends with the weights that the papers' equations give on one stream, to nine digits."""

import golden
import numpy as np
import pytest


@pytest.mark.parametrize("name", golden.WEIGHTS)
def test_the_interpreter_ends_with_the_golden_weights(name: str) -> None:
    np.testing.assert_allclose(golden.by_interpreter(name), golden.WEIGHTS[name][2], rtol=0, atol=6e-10)


@pytest.mark.interpreted
def test_objects_end_with_the_golden_weights() -> None:
    for name, (_, _, weights) in golden.WEIGHTS.items():
        np.testing.assert_allclose(golden.by_object(name), weights, rtol=0, atol=6e-10, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", golden.WEIGHTS)
def test_compiled_objects_end_with_the_golden_weights(name: str) -> None:
    np.testing.assert_allclose(golden.by_object(name), golden.WEIGHTS[name][2], rtol=0, atol=6e-10)
