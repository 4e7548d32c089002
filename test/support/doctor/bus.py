"""Fake services on a private bus: python3 bus.py FILE. FILE is JSON: {service: {path: {interface: {property: [signature, value]}}}}.

Prints "ready" when all names are owned. A property whose signature is "hang" is never answered.
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
    )
    node = Gio.DBusNodeInfo.new_for_xml(f'<node><interface name="{interface}">{listed}</interface></node>')

    def get(_connection, _sender, _path, _interface, name):
        signature, value = properties[name]
        if signature == "hang":
            GLib.MainLoop().run()
        return variant(signature, value)

    bus.register_object(path, node.interfaces[0], None, get, None)


for service, paths in services.items():
    for path, interfaces in paths.items():
        for interface, properties in interfaces.items():
            export(path, interface, properties)
    # wait for the reply: the test may call the service as soon as it reads "ready"
    bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                  GLib.Variant("(su)", (service, 0)), None, Gio.DBusCallFlags.NONE, -1, None)

print("ready", flush=True)
GLib.MainLoop().run()
