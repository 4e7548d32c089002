#!/usr/bin/python3
"""Stands in for the desktop's portal with global shortcuts, which tests drive with JSON lines both ways.

Requests: {"do": "calls"} what was called so far, {"do": "press", "id": S} {"do": "refuse"} answers the next dialogs with no.
Answers: {"ok": …} or {"error": S}.
"""
import json
import sys
import threading

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib

NAME = "org.freedesktop.portal.Desktop"
PATH = "/org/freedesktop/portal/desktop"
SHORTCUTS = "org.freedesktop.portal.GlobalShortcuts"
DESCRIPTION = f"""<node>
<interface name="org.freedesktop.host.portal.Registry">
  <method name="Register"><arg type="s" direction="in"/><arg type="a{{sv}}" direction="in"/></method>
</interface>
<interface name="{SHORTCUTS}">
  <method name="CreateSession"><arg type="a{{sv}}" direction="in"/><arg type="o" direction="out"/></method>
  <method name="BindShortcuts"><arg type="o" direction="in"/><arg type="a(sa{{sv}})" direction="in"/><arg type="s" direction="in"/>
    <arg type="a{{sv}}" direction="in"/><arg type="o" direction="out"/></method>
  <property name="version" type="u" access="read"/>
</interface>
<interface name="org.freedesktop.portal.Session"><method name="Close"/></interface>
</node>"""

bus = Gio.bus_get_sync(Gio.BusType.SESSION)
registry, shortcuts, session = Gio.DBusNodeInfo.new_for_xml(DESCRIPTION).interfaces
calls = []
state = {"refuse": False, "session": None}


def called(_bus, sender, path, _iface, method, args, invocation):
    values = args.unpack()
    calls.append([method, *values])
    if method in ("Register", "Close"):
        invocation.return_value(None)
        return
    place = sender[1:].replace(".", "_")
    request = f"{PATH}/request/{place}/{values[-1]['handle_token']}"
    invocation.return_value(GLib.Variant("(o)", (request,)))
    results = {}
    if method == "CreateSession":
        state["session"] = f"{PATH}/session/{place}/{values[-1]['session_handle_token']}"
        results["session_handle"] = GLib.Variant("s", state["session"])
        if state["session"] not in exported:
            exported.add(state["session"])
            bus.register_object(state["session"], session, called, None, None)
    code = 1 if state["refuse"] and method == "BindShortcuts" else 0
    bus.emit_signal(sender, request, "org.freedesktop.portal.Request", "Response", GLib.Variant("(ua{sv})", (code, results)))


exported = set()
for interface in (registry, shortcuts):
    bus.register_object(PATH, interface, called, lambda *_: GLib.Variant("u", 2), None)


def perform(request):
    if request["do"] == "calls":
        return calls
    if request["do"] == "refuse":
        state["refuse"] = True
        return None
    args = GLib.Variant("(osta{sv})", (state["session"], request["id"], 0, {}))
    bus.emit_signal(None, PATH, SHORTCUTS, "Activated", args)
    return None


def answer(text):
    try:
        result = {"ok": perform(json.loads(text))}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)


def listen():
    for text in sys.stdin:
        GLib.idle_add(answer, text)
    GLib.idle_add(loop.quit)


loop = GLib.MainLoop()
Gio.bus_own_name_on_connection(bus, NAME, Gio.BusNameOwnerFlags.NONE, None, None)
threading.Thread(target=listen, daemon=True).start()
loop.run()
