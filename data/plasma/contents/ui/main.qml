// The applet: the state of WARP as org.culvert.Client1 has it. Its texts come from there in the user's language, and the
// few of its own from Culvert's catalogs.
import QtQuick
import org.kde.kirigami as Kirigami
import org.kde.plasma.core as PlasmaCore
import org.kde.plasma.plasmoid

PlasmoidItem {
    id: root

    readonly property var client: loader.item
    readonly property bool isTooOld: loader.status === Loader.Error
    readonly property string shape: client && client.icon ? client.icon : "org.culvert.Culvert-unavailable-symbolic"
    readonly property string stateText: {
        if (isTooOld)
            return i18nd("culvert", "This widget needs Plasma 6.4 or newer.");
        return client && client.isKnown ? client.statusText : i18nd("culvert", "Unavailable");
    }
    // In µs since 1970; 0 while there is nothing to count down to.
    readonly property double pauseEnds: client ? client.pauseEnds : 0
    readonly property string timeLeft: {
        const seconds = Math.ceil(pauseEnds / 1e6 - now / 1e3);
        return seconds > 0 ? i18nd("culvert", "%s left").replace("%s", clock(seconds)) : "";
    }
    // In ms since 1970, as it was when somebody looked.
    property double now: 0
    property bool isHovered: false
    readonly property bool isLookedAt: expanded || isHovered

    function clock(seconds: int): string {
        const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
        const [first, ...others] = parts[0] > 0 ? parts : parts.slice(1);
        return [first, ...others.map(part => String(part).padStart(2, "0"))].join(":");
    }

    Plasmoid.icon: shape
    Plasmoid.status: client && client.isKnown ? PlasmaCore.Types.ActiveStatus : PlasmaCore.Types.PassiveStatus
    toolTipMainText: "WARP"
    toolTipSubText: timeLeft ? `${stateText} · ${timeLeft}` : stateText
    toolTipTextFormat: Text.PlainText
    switchWidth: Kirigami.Units.gridUnit * 14
    switchHeight: Kirigami.Units.gridUnit * 14

    onExpandedChanged: isOpen => {
        if (isOpen && client)
            client.refresh();
    }
    onIsLookedAtChanged: now = Date.now()
    onPauseEndsChanged: now = Date.now()

    Loader {
        id: loader
        source: "Client.qml"
    }

    Timer {
        interval: 1000
        repeat: true
        running: root.isLookedAt && root.pauseEnds > 0
        onTriggered: root.now = Date.now()
    }

    compactRepresentation: Compact {
        applet: root
    }
    fullRepresentation: Full {
        applet: root
    }
}
