#!/usr/bin/python3
"""A tray host that tests drive: owns StatusNotifierWatcher, talks to the items that register, JSON lines both ways.

Requests: {"do": "appear"} {"do": "vanish"} {"do": "items"} {"do": "signals"} {"do": "item"} {"do": "menu"}
{"do": "tree"} {"do": "click", "id": N} {"do": "activate"} {"do": "secondary"}; {"do": "adopt"} takes the items
that are registered with another watcher, a real one, and tells whether there are any. {"do": "direction"} of the menu.
{"do": "notify", "capabilities": […]} takes the part of the notification service, {"do": "notes"} tells what it was given,
{"do": "invoke", "id": N, "key": S} presses a button of one. Answers: {"ok": …} or {"error": S}.
"""
import hashlib

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib
from lines import serve

WATCHER = "org.kde.StatusNotifierWatcher"
XML = """<node><interface name="org.kde.StatusNotifierWatcher">
<method name="RegisterStatusNotifierItem"><arg type="s" direction="in"/></method>
<method name="RegisterStatusNotifierHost"><arg type="s" direction="in"/></method>
<property name="RegisteredStatusNotifierItems" type="as" access="read"/>
<property name="IsStatusNotifierHostRegistered" type="b" access="read"/>
<property name="ProtocolVersion" type="i" access="read"/>
</interface></node>"""

NOTIFICATIONS = "org.freedesktop.Notifications"
NOTIFICATIONS_XML = """<node><interface name="org.freedesktop.Notifications">
<method name="GetCapabilities"><arg type="as" direction="out"/></method>
<method name="Notify"><arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
<arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/><arg type="a{sv}" direction="in"/>
<arg type="i" direction="in"/><arg type="u" direction="out"/></method>
<method name="CloseNotification"><arg type="u" direction="in"/></method>
<signal name="ActionInvoked"><arg type="u"/><arg type="s"/></signal>
<signal name="NotificationClosed"><arg type="u"/><arg type="u"/></signal>
</interface></node>"""

bus = Gio.bus_get_sync(Gio.BusType.SESSION)
items = []
notes = {}
capabilities = []
signals = []
owner = 0


def called(_bus, _sender, _path, _iface, method, args, invocation):
    if method == "RegisterStatusNotifierItem":
        items.append(args.unpack()[0])
    invocation.return_value(None)


def read(_bus, _sender, _path, _iface, name):
    return {
        "RegisteredStatusNotifierItems": GLib.Variant("as", items),
        "IsStatusNotifierHostRegistered": GLib.Variant("b", True),
        "ProtocolVersion": GLib.Variant("i", 0),
    }[name]


bus.register_object(
    "/StatusNotifierWatcher", Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0], called, read, None
)


def pixels(image):
    """The picture of a notification, as `item` tells that of the icon."""
    return hashlib.sha256(bytes(image[6])[3::4]).hexdigest() if image else None


def notified(_bus, _sender, _path, _iface, method, args, invocation):
    if method == "GetCapabilities":
        invocation.return_value(GLib.Variant("(as)", (capabilities,)))
    elif method == "Notify":
        _app, replaced, _icon, summary, body, actions, hints, _limit = args.unpack()
        number = replaced or max(notes, default=0) + 1
        notes[number] = {"id": number, "summary": summary, "body": body, "actions": actions, "closed": False,
                         "picture": pixels(hints.get("image-data"))}
        invocation.return_value(GLib.Variant("(u)", (number,)))
    else:
        notes[args.unpack()[0]]["closed"] = True
        invocation.return_value(None)


bus.register_object(
    "/org/freedesktop/Notifications", Gio.DBusNodeInfo.new_for_xml(NOTIFICATIONS_XML).interfaces[0], notified, None, None
)
bus.signal_subscribe(
    None, None, None, None, None, Gio.DBusSignalFlags.NONE,
    lambda _b, sender, _p, iface, name, _a: signals.append(name)
    if iface in ("org.kde.StatusNotifierItem", "com.canonical.dbusmenu") else None,
)


def call(path, iface, method, args):
    return bus.call_sync(items[-1], path, iface, method, args, None, Gio.DBusCallFlags.NONE, 5000, None).unpack()


def item():
    (values,) = call("/StatusNotifierItem", "org.freedesktop.DBus.Properties", "GetAll",
                     GLib.Variant("(s)", ("org.kde.StatusNotifierItem",)))
    pixmaps = values["IconPixmap"]
    largest = bytes(pixmaps[-1][2]) if pixmaps else b""
    # the color of the first opaque pixel tells the tone
    opaque = next((largest[i + 1:i + 4].hex() for i in range(0, len(largest), 4) if largest[i] == 255), None)
    return {
        "sizes": [(w, h, len(data)) for w, h, data in pixmaps],
        "color": opaque,
        "picture": hashlib.sha256(largest[0::4]).hexdigest(),
        "title": values["ToolTip"][2],
        "text": values["ToolTip"][3],
        "properties": sorted(values),
    }


def menu():
    _revision, (_id, properties, children) = call(
        "/MenuBar", "com.canonical.dbusmenu", "GetLayout", GLib.Variant("(iias)", (0, -1, [])))
    return [{"id": child[0], **child[1]} for child in children]


def tree():
    def entry(node):
        number, properties, children = node
        return {"id": number, **properties, "children": [entry(child) for child in children]}

    _revision, root = call("/MenuBar", "com.canonical.dbusmenu", "GetLayout", GLib.Variant("(iias)", (0, -1, [])))
    return entry(root)["children"]


def adopt():
    """An item is told as its owner and its path: ":1.5/StatusNotifierItem", or ":1.5@/StatusNotifierItem"."""
    items.clear()
    try:
        (values,) = bus.call_sync(WATCHER, "/StatusNotifierWatcher", "org.freedesktop.DBus.Properties", "GetAll",
                                  GLib.Variant("(s)", (WATCHER,)),
                                  None, Gio.DBusCallFlags.NO_AUTO_START, 5000, None).unpack()
    except GLib.Error:
        return False  # there is no watcher
    items.extend(name.split("/")[0].rstrip("@") for name in values["RegisteredStatusNotifierItems"])
    return values["IsStatusNotifierHostRegistered"] and bool(items)


def perform(request):
    global owner
    what = request["do"]
    if what == "appear":
        owner = Gio.bus_own_name_on_connection(bus, WATCHER, Gio.BusNameOwnerFlags.NONE, None, None)
    elif what == "vanish":
        Gio.bus_unown_name(owner)
        items.clear()
    elif what == "items":
        return items
    elif what == "notify":
        capabilities[:] = request["capabilities"]
        bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                      GLib.Variant("(su)", (NOTIFICATIONS, 0)), None, Gio.DBusCallFlags.NONE, -1, None)
    elif what == "notes":
        return list(notes.values())
    elif what == "invoke":
        bus.emit_signal(None, "/org/freedesktop/Notifications", NOTIFICATIONS, "ActionInvoked",
                        GLib.Variant("(us)", (request["id"], request["key"])))
    elif what == "direction":
        return call("/MenuBar", "org.freedesktop.DBus.Properties", "Get",
                    GLib.Variant("(ss)", ("com.canonical.dbusmenu", "TextDirection")))[0]
    elif what == "signals":
        # those that have arrived and wait for their turn count too
        while GLib.MainContext.default().iteration(False):
            pass
        seen = list(signals)
        signals.clear()
        return seen
    elif what == "item":
        return item()
    elif what == "tree":
        return tree()
    elif what == "adopt":
        return adopt()
    elif what == "menu":
        return menu()
    elif what == "click":
        call("/MenuBar", "com.canonical.dbusmenu", "Event",
             GLib.Variant("(isvu)", (request["id"], "clicked", GLib.Variant("i", 0), 0)))
    elif what in ("activate", "secondary"):
        method = {"activate": "Activate", "secondary": "SecondaryActivate"}[what]
        call("/StatusNotifierItem", "org.kde.StatusNotifierItem", method, GLib.Variant("(ii)", (0, 0)))
    else:
        raise ValueError(what)
    return None


serve(perform)
