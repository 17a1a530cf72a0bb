"""`tdlambda tasks`."""

from typing import Any

from rich.markup import escape

import tdlambda as td
from tdlambda.lab.cli.options import Json
from tdlambda.lab.cli.output import console, print_json


def tasks(json: Json = False) -> None:
    """List the tasks, their sizes and their presets.

    Example: [bold]tdlambda tasks --json[/bold]
    """
    found = [_describe(name) for name in td.tasks.TASKS]
    if json:
        print_json({"tasks": found})
        return
    for t in found:
        states = "continuous states" if t["states"] is None else f"{t['states']} states ({t['terminal']} terminal)"
        console.print(f"[bold]{t['id']}[/bold]  {escape(t['summary'])}")
        console.print(f"    {states}, {t['actions']} actions, {t['features']} features ({t['active']} active)")
        if t["presets"]:
            console.print(f"    presets: {'; '.join(t['presets'])}")


def _describe(name: str) -> dict[str, Any]:
    task = td.make(name)
    space: Any = task.action_space
    return {
        "id": name,
        "summary": td.tasks.TASKS[name].summary,
        "states": None if task.mdp is None else task.mdp.n_states,
        "terminal": None if task.mdp is None else int(task.mdp.terminal.sum()),
        "actions": int(space.n),
        "features": task.features.size,
        "active": task.features.active,
        "on_policy": task.on_policy,
        "presets": list(td.tasks.TASKS[name].presets),
    }
