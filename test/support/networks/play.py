# Changes what mocks on the system's bus say, one JSON array a line, and answers each with "ok":
# ["add", service, path, interface, {name: value}], ["set", …], or ["describe", text] for systemd-networkd.
import json
import sys

import dbus

MOCK = 'org.freedesktop.DBus.Mock'
NETWORKD = 'org.freedesktop.network1'
bus = dbus.SystemBus()


def typed(value):
    if isinstance(value, list):
        return dbus.Array(value, signature='y')
    if isinstance(value, int):
        return dbus.UInt32(value)
    return dbus.String(value)  # a mock takes no object path


def describe(text):
    manager = bus.get_object(NETWORKD, '/org/freedesktop/network1')
    manager.AddMethod(f'{NETWORKD}.Manager', 'Describe', '', 's', f'ret = {text!r}', dbus_interface=MOCK)
    manager.EmitSignal(f'{NETWORKD}.Manager', 'Changed', 's', ['OperationalState'], dbus_interface=MOCK)


def change(how, service, path, interface, properties):
    values = dbus.Dictionary({name: typed(value) for name, value in properties.items()}, signature='sv')
    call = 'AddProperties' if how == 'add' else 'UpdateProperties'
    bus.get_object(service, path).get_dbus_method(call, MOCK)(interface, values)


def add(service, root, path):
    methods = dbus.Array([], signature='(ssss)')
    nothing = dbus.Dictionary({}, signature='sv')
    bus.get_object(service, root).AddObject(path, f'{service}.Object', nothing, methods, dbus_interface=MOCK)


for line in sys.stdin:
    kind, *words = json.loads(line)
    if kind == 'describe':
        describe(*words)
    elif kind == 'object':
        add(*words)
    else:
        change(kind, *words)
    print('ok', flush=True)
