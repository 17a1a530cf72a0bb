"""Environments of the installed Gymnasium."""

from gymnasium.envs.registration import find_highest_version


def newest(name: str) -> str:
    """The id of an environment with its highest version, which differs between releases of Gymnasium."""
    return f"{name}-v{find_highest_version(None, name)}"
