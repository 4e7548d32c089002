"""Plays logind on a private bus: every user has one session at the screen. Prints "ready". A line on standard input ("lock",
"logout", "sleep") locks the screen, ends every session, or says that the machine is going to sleep.
"""

import sys

from gi.repository import Gio, GLib

NAME = "org.freedesktop.login1"
XML = """<node>
<interface name="org.freedesktop.login1.Manager"><method name="GetUser"><arg type="u" direction="in"/><arg type="o" direction="out"/></method>
<signal name="PrepareForSleep"><arg type="b"/></signal></interface>
<interface name="org.freedesktop.login1.User"><property name="Display" type="(so)" access="read"/>
<property name="State" type="s" access="read"/></interface>
<interface name="org.freedesktop.login1.Session"><property name="Active" type="b" access="read"/>
<property name="LockedHint" type="b" access="read"/></interface></node>"""
manager, user, session = Gio.DBusNodeInfo.new_for_xml(XML).interfaces
bus = Gio.bus_get_sync(Gio.BusType.SYSTEM, None)
locked = False
left = False


def read(_connection, _sender, _path, _interface, name):
    if name == "State":
        return GLib.Variant("s", "active")
    if name == "Display":
        return GLib.Variant("(so)", ("1", "/session"))
    return GLib.Variant("b", locked if name == "LockedHint" else True)


def obey(stdin, _condition):
    global locked, left
    line = stdin.readline().strip()
    if line == "lock":
        locked = True
    elif line == "logout":
        left = True
    elif line == "sleep":
        bus.emit_signal(None, "/org/freedesktop/login1", f"{NAME}.Manager", "PrepareForSleep", GLib.Variant("(b)", (True,)))
    return bool(line)


bus.register_object("/org/freedesktop/login1", manager,
                    lambda *words: words[-1].return_dbus_error(f"{NAME}.NoSuchUser", "User is not logged in") if left
                    else words[-1].return_value(GLib.Variant("(o)", ("/user",))), None, None)
bus.register_object("/user", user, None, read, None)
bus.register_object("/session", session, None, read, None)
bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName", GLib.Variant("(su)", (NAME, 0)),
              None, Gio.DBusCallFlags.NONE, -1, None)
GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, obey)
print("ready", flush=True)
GLib.MainLoop().run()
