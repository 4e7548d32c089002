// Follows org.culvert.Client1 on the session bus, and calls it. A file of its own, since QML has no optional import:
// SignalWatcher came with Plasma 6.4.
import QtQml
import org.kde.plasma.workspace.dbus as DBus

QtObject {
    id: client

    readonly property string name: "org.culvert.Client1"

    // Those of the interface, with a small first letter (org.culvert.Client1(5)); empty while nobody answers.
    property string state
    property string statusText
    property string icon
    property double pauseEnds
    property string toggleAction
    property string toggleText
    property bool canToggle
    property string remedyText
    property string mode
    property var modes: []
    // lengths to offer, in seconds
    property var pauses: []
    property string killSwitch
    property string killSwitchText
    property bool canSetKillSwitch
    property var pending: ({})

    // Whether somebody answers.
    property bool isKnown: false
    // What the last call failed with.
    property string problem
    // Calls that change something, and are under way.
    property int changes: 0

    // Kept from the garbage collector, which would end the calls.
    property var replies: []
    // Counts the owners of the name and the reads, so that an answer from before is told apart.
    property int reads: 0

    readonly property DBus.DBusServiceWatcher owner: DBus.DBusServiceWatcher {
        busType: DBus.BusType.Session
        watchedService: client.name
        onRegisteredChanged: {
            if (registered)
                client.read();
            else
                client.forget();
        }
    }

    readonly property DBus.SignalWatcher signals: DBus.SignalWatcher {
        busType: DBus.BusType.Session
        service: client.name
        path: "/org/culvert/Client1"
        iface: "org.freedesktop.DBus.Properties"

        function dbusPropertiesChanged(iface, changed, invalidated) {
            if (client.isKnown && String(iface) === client.name)
                client.show(changed);
        }
    }

    Component.onCompleted: read()

    // Reads all properties, which starts the bridge where it does not run.
    function read() {
        const number = ++reads;
        send("org.freedesktop.DBus.Properties", "GetAll", "(s)", [name], reply => {
            if (reply.isError || number !== reads || !owner.registered)
                return;
            show(reply.value);
            isKnown = true;
        });
    }

    function forget() {
        reads++;
        isKnown = false;
        for (const name of ["state", "statusText", "icon", "toggleAction", "toggleText", "remedyText", "mode", "killSwitch", "killSwitchText"])
            client[name] = "";
        canToggle = canSetKillSwitch = false;
        pauseEnds = 0;
        modes = [];
        pauses = [];
        pending = {};
    }

    function show(values) {
        for (const name in values) {
            const own = name[0].toLowerCase() + name.slice(1);
            const value = plain(values[name]);
            switch (typeof client[own]) {
            case "string":
            case "boolean":
            case "object":
                client[own] = value;
                break;
            case "number":
                client[own] = Number(value);
            }
        }
    }

    // Numbers and texts of the bus come as objects (components/dbus of plasma-workspace).
    function plain(value) {
        if (typeof value === "boolean")
            return value;
        // lists within lists are no arrays
        if (typeof value === "object" && value.length !== undefined)
            return Array.from(value, plain);
        const text = String(value);
        if (!text.startsWith("[object "))
            return text;
        const entries = {};
        for (const name in value)
            entries[name] = plain(value[name]);
        return entries;
    }

    function send(iface, member, signature, values, done) {
        const reply = DBus.SessionBus.asyncCall({
            service: name,
            path: "/org/culvert/Client1",
            iface: iface,
            member: member,
            signature: signature,
            arguments: values
        });
        replies = replies.concat([reply]);
        reply.finished.connect(() => {
            replies = replies.filter(other => other !== reply);
            done(reply);
        });
    }

    function change(member, signature, values) {
        problem = "";
        changes++;
        send(name, member, signature, values, reply => {
            changes--;
            // the time that Qt gives a call is over, such as while an administrator types a password: the properties tell
            if (reply.isError && reply.error.name !== "org.freedesktop.DBus.Error.NoReply")
                problem = reply.error.message;
        });
    }

    function confirmWithin(asks) {
        return asks ? { "confirm-within": new DBus.uint32(30) } : {};
    }

    function refresh() {
        problem = "";
        if (isKnown)
            send(name, "Refresh", "", [], () => {});
        else
            read();
    }

    function toggle() {
        if (toggleAction === "connect")
            change("Connect", "", []);
        else if (toggleAction === "disconnect")
            change("Disconnect", "", []);
    }

    function pause(seconds) {
        change("Pause", "(u)", [new DBus.uint32(seconds)]);
    }

    // A change of a tunnel that is up can cut the user off, so that it reverts unless it is kept.
    function setMode(mode) {
        change("SetMode", "(sa{sv})", [mode, confirmWithin(state === "connected")]);
    }

    function setKillSwitch(on) {
        change("SetKillSwitch", "(ba{sv})", [on, confirmWithin(on)]);
    }

    function keep() {
        change("Keep", "", []);
    }

    function revert() {
        change("Revert", "", []);
    }

    function remedy() {
        change("Remedy", "(a{sv})", [{}]);
    }

    function open() {
        change("Open", "(sa{sv})", ["", {}]);
    }
}
