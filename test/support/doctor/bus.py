"""Fake services on a private bus: python3 bus.py FILE. FILE is JSON: {service: {path: {interface: {property: [signature, value]}}}}.

Prints "ready" when all names are owned. A line [path, interface, property, [signature, value]] on standard input changes a
property, and tells it as services do. A property whose signature is "hang" is never answered. One whose signature begins with "()" is
a method without arguments, which returns the value.
"""

import json
import sys

from gi.repository import Gio, GLib

with open(sys.argv[1]) as file:
    services = json.load(file)
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)


def variant(signature, value):
    return GLib.Variant.parse(GLib.VariantType(signature), value, None, None)


def export(path, interface, properties):
    listed = "".join(
        f'<property name="{name}" type="{"s" if signature == "hang" else signature}" access="read"/>'
        for name, (signature, _) in properties.items()
        if not signature.startswith("()")
    )
    listed += "".join(
        f'<method name="{name}"><arg type="{signature[2:]}" direction="out"/></method>'
        for name, (signature, _) in properties.items()
        if signature.startswith("()")
    )
    node = Gio.DBusNodeInfo.new_for_xml(f'<node><interface name="{interface}">{listed}</interface></node>')

    def get(_connection, _sender, _path, _interface, name):
        signature, value = properties[name]
        if signature == "hang":
            GLib.MainLoop().run()
        return variant(signature, value)

    def call(_connection, _sender, _path, _interface, name, _parameters, invocation):
        signature, value = properties[name]
        invocation.return_value(GLib.Variant.new_tuple(variant(signature[2:], value)))

    bus.register_object(path, node.interfaces[0], call, get, None)


for service, paths in services.items():
    for path, interfaces in paths.items():
        for interface, properties in interfaces.items():
            export(path, interface, properties)
    # wait for the reply: the test may call the service as soon as it reads "ready"
    bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                  GLib.Variant("(su)", (service, 0)), None, Gio.DBusCallFlags.NONE, -1, None)



def change(stdin, _condition):
    line = stdin.readline()
    if not line:
        return False
    path, interface, name, (signature, value) = json.loads(line)
    for paths in services.values():
        if path in paths:
            paths[path][interface][name] = [signature, value]
    changed = (interface, {name: variant(signature, value)}, [])
    bus.emit_signal(None, path, "org.freedesktop.DBus.Properties", "PropertiesChanged", GLib.Variant("(sa{sv}as)", changed))
    return True


GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, change)
print("ready", flush=True)
GLib.MainLoop().run()
