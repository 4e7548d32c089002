#!/usr/bin/python3
"""A program that uses org.culvert.Client1, which tests drive with JSON lines both ways.

Requests: {"do": "all"} {"do": "get", "name": S} {"do": "call", "method": S, "args": GVARIANT} {"do": "changes"}
{"do": "notices"} {"do": "owner"} {"do": "pid"} {"do": "take", "name": S} takes a name, {"do": "taken"} tells what was called
there. Answers: {"ok": …} or {"error": S}; a refused call is {"ok": {"name": S, "text": S}}.
"""

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib
from lines import serve

NAME = "org.culvert.Client1"
PATH = "/org/culvert/Client1"
PROPERTIES = "org.freedesktop.DBus.Properties"
BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
APPLICATION = """<node><interface name="org.freedesktop.Application">
<method name="Activate"><arg type="a{sv}" direction="in"/></method>
<method name="ActivateAction"><arg type="s" direction="in"/><arg type="av" direction="in"/><arg type="a{sv}" direction="in"/></method>
</interface></node>"""

bus = Gio.bus_get_sync(Gio.BusType.SESSION)
changes = []
notices = []
taken = []


def noted(_bus, _sender, _path, _iface, signal, args):
    values = args.unpack()
    if signal == "Notice":
        notices.append(values)
    elif values[0] == NAME:
        changes.append(values[1])


bus.signal_subscribe(None, None, None, PATH, None, Gio.DBusSignalFlags.NONE, noted)


def call(iface, method, args):
    return bus.call_sync(NAME, PATH, iface, method, args, None, Gio.DBusCallFlags.NONE, 60000, None)


def on_bus(method, signature, *args):
    return bus.call_sync(*BUS, method, GLib.Variant(signature, args), None, Gio.DBusCallFlags.NONE, -1, None).unpack()[0]


def called(_bus, _sender, _path, _iface, method, args, invocation):
    taken.append([method, *args.unpack()])
    invocation.return_value(None)


def take(name):
    info = Gio.DBusNodeInfo.new_for_xml(APPLICATION).interfaces[0]
    bus.register_object("/" + name.replace(".", "/"), info, called, None, None)
    return on_bus("RequestName", "(su)", name, 0)


def settle():
    """Signals that have arrived and wait for their turn count too."""
    while GLib.MainContext.default().iteration(False):
        pass


def answer(request):
    what = request["do"]
    if what == "all":
        return call(PROPERTIES, "GetAll", GLib.Variant("(s)", (NAME,))).unpack()[0]
    if what == "get":
        value = call(PROPERTIES, "Get", GLib.Variant("(ss)", (NAME, request["name"]))).get_child_value(0).get_variant()
        return {"type": value.get_type_string(), "value": value.unpack()}
    if what == "call":
        try:
            call(NAME, request["method"], GLib.Variant.parse(None, request.get("args", "()"), None, None))
            return None
        except GLib.Error as error:
            name = Gio.dbus_error_get_remote_error(error)
            return {"name": name, "text": error.message.split(": ", 1)[-1]}
    if what in ("changes", "notices"):
        settle()
        lines = changes if what == "changes" else notices
        seen = list(lines)
        lines.clear()
        return seen
    if what == "owner":
        try:
            return on_bus("GetNameOwner", "(s)", NAME)
        except GLib.Error:
            return None
    if what == "pid":
        return on_bus("GetConnectionUnixProcessID", "(s)", NAME)
    if what == "take":
        return take(request["name"])
    if what == "taken":
        settle()
        seen = list(taken)
        taken.clear()
        return seen
    raise ValueError(what)


serve(answer)
