"""Plays polkit and systemd on a private bus: python3 system.py DIRECTORY [real-polkit].

DIRECTORY/allowed holds the actions that are granted, one a line; DIRECTORY/questions gets a line for each question, with
the caller's user and whether a person may be asked; DIRECTORY/timers a line for each timer taken. DIRECTORY/resume is run
when a timer ends. With DIRECTORY/no-timers present, timers are refused; with DIRECTORY/silent, polkit never answers; with DIRECTORY/slow, it
answers once that is gone. DIRECTORY/cgroups holds the cgroup below which scopes are made.
DIRECTORY/sign-in is run as the helper of a sign-in.
"""

import os
import re
import socket
import subprocess
import sys

from gi.repository import Gio, GLib

POLKIT = """<node><interface name="org.freedesktop.PolicyKit1.Authority"><method name="CheckAuthorization">
<arg type="(sa{sv})" direction="in"/><arg type="s" direction="in"/><arg type="a{ss}" direction="in"/>
<arg type="u" direction="in"/><arg type="s" direction="in"/><arg type="(bba{ss})" direction="out"/>
</method></interface></node>"""
SYSTEMD = """<node><interface name="org.freedesktop.systemd1.Manager">
<method name="StartTransientUnit"><arg type="s" direction="in"/><arg type="s" direction="in"/>
<arg type="a(sv)" direction="in"/><arg type="a(sa(sv))" direction="in"/><arg type="o" direction="out"/></method>
<method name="RestartUnit"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="o" direction="out"/></method>
<method name="StopUnit"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="o" direction="out"/></method>
</interface></node>"""
SIGN_IN = "culvert-killswitch-sign-in.service"
with open(os.path.join(os.path.dirname(__file__), "../../../data/killswitch", SIGN_IN + ".in")) as unit:
    # the first one connects in both directions where the second one names the same file
    HELPER_SOCKET = re.search(r"^StandardInput=file:/run/culvert-killswitch/(.+)\nStandardOutput=file:/run/culvert-killswitch/\1$",
                              unit.read(), re.MULTILINE)[1]
here = sys.argv[1]
helper = None
timers = {}
waiting = []


def has(name):
    return os.path.exists(os.path.join(here, name))


def note(name, line):
    with open(os.path.join(here, name), "a") as file:
        file.write(line + "\n")


def decide(connection, _sender, _path, _interface, _method, parameters, invocation):
    (kind, details), action, _, flags, _ = parameters.unpack()
    uid = connection.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                               "GetConnectionUnixUser", GLib.Variant("(s)", (details["name"],)),
                               GLib.VariantType("(u)"), 0, 2000, None).unpack()[0]
    note("questions", f"{kind} {uid} {action} {flags}")
    if has("silent"):
        return
    with open(os.path.join(here, "allowed")) as file:
        allowed = action in file.read().split()
    answer = GLib.Variant("((bba{ss}))", ((allowed, False, {}),))
    if has("slow"):
        waiting.append((invocation, answer))
        GLib.timeout_add(20, answer_when_told)
    else:
        invocation.return_value(answer)


def answer_when_told():
    if has("slow"):
        return True
    for invocation, answer in waiting:
        invocation.return_value(answer)
    waiting.clear()
    return False


def make_scope(name, properties):
    note("scopes", f"{name} {properties}")
    with open(os.path.join(here, "cgroups")) as file:
        root = file.read()
    user = properties["Slice"].removesuffix("-culvert.slice")
    path = os.path.join(root, "user.slice", user + ".slice", properties["Slice"], name)
    os.makedirs(path)
    for pid in properties["PIDs"]:
        with open(os.path.join(path, "cgroup.procs"), "w") as file:
            file.write(str(pid))


def stop_helper():
    global helper
    if helper:
        helper.kill()
        helper.wait()
    helper = None


def connect_as_unit():
    link = socket.socket(socket.AF_UNIX)
    link.connect(os.path.join(here, "run", HELPER_SOCKET))
    for stream in (0, 1):
        os.dup2(link.fileno(), stream)


def restart_helper():
    global helper
    stop_helper()
    helper = subprocess.Popen([os.path.join(here, "sign-in")], preexec_fn=connect_as_unit)
    note("helpers", str(helper.pid))


def manage(_connection, _sender, _path, _interface, method, parameters, invocation):
    name = parameters.unpack()[0]
    if name == SIGN_IN:
        stop_helper() if method == "StopUnit" else restart_helper()
    elif method == "StopUnit":
        if name in timers:
            GLib.source_remove(timers.pop(name))
        note("timers", f"stop {name}")
    elif name.endswith(".scope"):
        try:
            make_scope(name, dict(parameters.unpack()[2]))
        except (OSError, KeyError) as error:
            invocation.return_dbus_error("org.freedesktop.DBus.Error.Failed", str(error))
            return
    elif has("no-timers"):
        invocation.return_dbus_error("org.freedesktop.DBus.Error.AccessDenied", "not here")
        return
    else:
        properties = dict(parameters.unpack()[2])
        (base, microseconds), = properties["TimersMonotonic"]
        # as systemd does: the property that it shows is called otherwise, and Unit can't be set
        if base != "OnActiveSec" or "Unit" in properties:
            invocation.return_dbus_error("org.freedesktop.DBus.Error.InvalidArgs", f"Invalid timer base: {base}")
            return
        note("timers", f"start {name} {microseconds}")

        def end():
            timers.pop(name, None)
            subprocess.run([os.path.join(here, "resume")], check=False)
            return False

        timers[name] = GLib.timeout_add(microseconds // 1000, end)
    invocation.return_value(GLib.Variant("(o)", ("/org/freedesktop/systemd1/job/1",)))


bus = Gio.bus_get_sync(Gio.BusType.SYSTEM, None)
for xml, path, handler in ((POLKIT, "/org/freedesktop/PolicyKit1/Authority", decide),
                           (SYSTEMD, "/org/freedesktop/systemd1", manage)):
    bus.register_object(path, Gio.DBusNodeInfo.new_for_xml(xml).interfaces[0], handler, None, None)
for name in ("org.freedesktop.PolicyKit1", "org.freedesktop.systemd1"):
    if name.endswith("PolicyKit1") and len(sys.argv) > 2:
        continue
    # wait for the reply: the test may call the service as soon as it reads "ready"
    bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                  GLib.Variant("(su)", (name, 0)), None, Gio.DBusCallFlags.NONE, -1, None)
print("ready", flush=True)
GLib.MainLoop().run()
