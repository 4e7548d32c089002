#!/usr/bin/python3
"""Drives a GTK 4 window for tests as a screen reader would, over AT-SPI; JSON lines both ways.

Requests: {"do": "find", "name": S} {"do": "switch", "name": S} {"do": "press", "name": S} {"do": "gone", "name": S}
{"do": "names"} {"do": "survey"} {"do": "description", "name": S} {"do": "place", "name": S}. Each takes "ms", how long to look. Answers: {"ok": …} or {"error": S}.
"""
import json
import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib

# at-spi2-core 2.56 gave old roles new names, and GTK 4.10 gave its switch and its boxes roles of their own
ROLES = {"button": "push button", "switch": "check box", "toggle switch": "check box", "grouping": "panel"}
# GTK 4's names of a button's, a switch's, a row's action, and Qt's
PRESS = ("click", "toggle", "activate", "Press", "Toggle")


def visible():
    # VISIBLE and not SHOWING, which GTK 4.8 never sets; a hidden page of a stack is not VISIBLE itself
    def down(node):
        yield node
        for i in range(node.get_child_count()):
            child = node.get_child_at_index(i)
            if child is not None and child.get_state_set().contains(Atspi.StateType.VISIBLE):
                yield from down(child)

    desktop = Atspi.get_desktop(0)
    desktop.clear_cache()  # libatspi caches the tree on this side
    for i in range(desktop.get_child_count()):
        application = desktop.get_child_at_index(i)
        if application is not None:
            yield from down(application)


def actions(node):
    if "Action" not in node.get_interfaces():
        return []
    try:
        return [node.get_action_name(i) for i in range(node.get_n_actions())]
    except GLib.Error:
        return []  # the row of a list counts actions that it then can't name


def matches(node, name):
    # 4.8 names a dialog's button twice
    return node.get_name() in (name, f"{name} {name}")


def describe(node):
    states = node.get_state_set()
    flags = {
        "sensitive": Atspi.StateType.SENSITIVE,
        "checked": Atspi.StateType.CHECKED,
        "selected": Atspi.StateType.SELECTED,
        "focused": Atspi.StateType.FOCUSED,
        "focusable": Atspi.StateType.FOCUSABLE,
    }
    parent = node.get_parent()
    return {"name": node.get_name(), "role": ROLES.get(node.get_role_name(), node.get_role_name()), "parent": parent.get_name() if parent else "",
            **{key: states.contains(state) for key, state in flags.items()}}


def find(name, ms, ok=lambda node: True):
    end = time.monotonic() + ms / 1000
    while True:
        try:
            for node in visible():
                if matches(node, name) and ok(node):
                    return node
        except GLib.Error:
            pass  # a node vanished while we walked: look again
        if time.monotonic() > end:
            raise LookupError(f"no {name!r} on screen; there are {sorted(set(settled(names, ms)))}")
        time.sleep(0.03)


def names():
    return [node.get_name() for node in visible() if node.get_name()]


def press(name, ms):
    node = find(name, ms, lambda node: set(PRESS) & set(actions(node))
                and node.get_state_set().contains(Atspi.StateType.SENSITIVE))
    if not node.do_action(next(i for i, action in enumerate(actions(node)) if action in PRESS)):
        raise RuntimeError(f"{name!r} does not take a press")


def gone(name, ms):
    end = time.monotonic() + ms / 1000
    while name in settled(names, ms):
        if time.monotonic() > end:
            raise LookupError(f"{name!r} is still on screen")
        time.sleep(0.03)


def value_of(node, interfaces):
    """What an entry holds, and where a bar or a slider stands: [least, now, most]. None where there is neither."""
    if "Value" in interfaces:
        return [node.get_minimum_value(), node.get_current_value(), node.get_maximum_value()]
    if "EditableText" in interfaces:
        # GTK 4.8 takes -1 for the beginning
        return Atspi.Text.get_text(node, 0, Atspi.Text.get_character_count(node))
    return None


def settled(look, ms):
    """The answer of a look that no vanishing node interrupts, such as that of a dialog which is just closing."""
    end = time.monotonic() + ms / 1000
    while True:
        try:
            return look()
        except GLib.Error:
            if time.monotonic() > end:
                raise
            time.sleep(0.03)


def survey():
    """Everything on screen in its order, with name, role, description, value and states: one walk."""
    nodes = []
    for node in visible():
        interfaces = node.get_interfaces()
        nodes.append({**describe(node), "description": node.get_description(), "value": value_of(node, interfaces),
                      "pressable": "Action" in interfaces and bool(set(PRESS) & set(actions(node)))})
    return nodes


def place(name, ms):
    """Where it is in its window, and how large: [x, y, width, height]."""
    extents = lambda node: node.get_extents(Atspi.CoordType.WINDOW)
    # what lies on a page that is not shown has no size
    sized = lambda node: "Component" in node.get_interfaces() and extents(node).width > 0
    box = settled(lambda: extents(find(name, ms, sized)), ms)
    return [box.x, box.y, box.width, box.height]


def perform(request):
    what, name, ms = request["do"], request.get("name"), request.get("ms", 60000)
    if what == "find":
        return settled(lambda: describe(find(name, ms)), ms)
    if what == "switch":
        return settled(lambda: describe(find(name, ms, lambda node: "toggle" in actions(node))), ms)
    if what == "press":
        return press(name, ms)
    if what == "gone":
        return gone(name, ms)
    if what == "place":
        return place(name, ms)
    if what == "names":
        return settled(names, ms)
    if what == "survey":
        return settled(survey, ms)
    if what == "description":
        return settled(lambda: find(name, ms, lambda node: "Action" in node.get_interfaces()).get_description(), ms)
    raise ValueError(what)


for text in sys.stdin:
    try:
        answer = {"ok": perform(json.loads(text))}
    except Exception as error:  # told to the test, which fails with it
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
