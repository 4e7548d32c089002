// What opens from the icon. Controls show the state of the bus, never a wish.
import QtQuick
import QtQuick.Layouts
import org.kde.kirigami as Kirigami
import org.kde.plasma.components as PlasmaComponents
import org.kde.plasma.extras as PlasmaExtras

PlasmaExtras.Representation {
    id: full

    required property var applet
    readonly property var client: applet.client
    readonly property bool isIdle: client !== null && client.changes === 0
    readonly property bool isOn: client !== null && client.toggleAction === "disconnect"
    readonly property bool isGuarded: client !== null && ["on", "paused", "unmeasured", "missing"].includes(client.killSwitch)

    Layout.minimumWidth: Kirigami.Units.gridUnit * 18
    Layout.minimumHeight: content.implicitHeight + topPadding + bottomPadding
    Layout.preferredWidth: Layout.minimumWidth
    Layout.preferredHeight: Layout.minimumHeight
    Layout.maximumHeight: Layout.minimumHeight
    collapseMarginsHint: false
    focus: true

    component Paragraph: PlasmaComponents.Label {
        Layout.fillWidth: true
        textFormat: Text.PlainText
        wrapMode: Text.Wrap
        visible: text !== ""
    }

    contentItem: ColumnLayout {
        id: content
        spacing: Kirigami.Units.smallSpacing

        RowLayout {
            Layout.fillWidth: true
            spacing: Kirigami.Units.largeSpacing

            Kirigami.Icon {
                source: full.applet.shape
                isMask: true
                color: Kirigami.Theme.textColor
                Layout.preferredWidth: Kirigami.Units.iconSizes.medium
                Layout.preferredHeight: Kirigami.Units.iconSizes.medium
                Accessible.ignored: true
            }
            ColumnLayout {
                spacing: 0
                Kirigami.Heading {
                    Layout.fillWidth: true
                    level: 3
                    textFormat: Text.PlainText
                    wrapMode: Text.Wrap
                    text: full.applet.stateText
                }
                Paragraph {
                    text: full.applet.timeLeft
                }
            }
            PlasmaComponents.Switch {
                id: toggle
                focus: true
                visible: full.client !== null && full.client.toggleAction !== ""
                enabled: full.isIdle && full.client.canToggle
                checked: full.isOn
                Accessible.name: full.client ? full.client.toggleText : ""
                onToggled: {
                    checked = Qt.binding(() => full.isOn);
                    full.client.toggle();
                }
            }
        }

        Paragraph {
            text: full.client ? full.client.problem : ""
            color: Kirigami.Theme.negativeTextColor
            Accessible.role: Accessible.AlertMessage
        }

        PlasmaComponents.Button {
            Layout.fillWidth: true
            visible: text !== ""
            enabled: full.isIdle
            text: full.client ? full.client.remedyText : ""
            onClicked: full.client.remedy()
        }

        Paragraph {
            text: full.client && full.client.pending.text || ""
        }
        RowLayout {
            visible: full.client !== null && Boolean(full.client.pending.text)
            PlasmaComponents.Button {
                Layout.fillWidth: true
                enabled: full.isIdle
                text: i18nd("culvert", "Keep")
                onClicked: full.client.keep()
            }
            PlasmaComponents.Button {
                Layout.fillWidth: true
                enabled: full.isIdle
                text: i18nd("culvert", "Revert Now")
                onClicked: full.client.revert()
            }
        }

        Kirigami.Heading {
            level: 5
            visible: full.client !== null && full.client.modes.length > 0
            text: i18nd("culvert", "Mode")
        }
        Repeater {
            model: full.client ? full.client.modes : []

            PlasmaComponents.RadioButton {
                required property var modelData
                Layout.fillWidth: true
                autoExclusive: false
                checked: modelData[0] === full.client.mode
                enabled: full.isIdle && modelData[2]
                text: modelData[1]
                onToggled: {
                    checked = Qt.binding(() => modelData[0] === full.client.mode);
                    if (modelData[0] !== full.client.mode)
                        full.client.setMode(modelData[0]);
                }
            }
        }

        RowLayout {
            visible: full.isOn
            Repeater {
                model: full.client ? full.client.pauses : []

                PlasmaComponents.Button {
                    required property var modelData
                    readonly property int minutes: modelData / 60
                    readonly property bool isHours: minutes % 60 === 0
                    readonly property int amount: isHours ? minutes / 60 : minutes
                    Layout.fillWidth: true
                    enabled: full.isIdle && full.client.canToggle
                    text: (isHours ? i18ndp("culvert", "Pause for %d hour", "Pause for %d hours", amount)
                                   : i18ndp("culvert", "Pause for %d minute", "Pause for %d minutes", amount)).replace("%d", amount)
                    onClicked: full.client.pause(Number(modelData))
                }
            }
        }

        PlasmaComponents.Switch {
            id: guard
            Layout.fillWidth: true
            visible: full.client !== null && !["", "not-installed", "unknown"].includes(full.client.killSwitch)
            enabled: full.isIdle && full.client.canSetKillSwitch
            checked: full.isGuarded
            text: i18nd("culvert", "Kill Switch")
            Accessible.description: full.client ? full.client.killSwitchText : ""
            onToggled: {
                checked = Qt.binding(() => full.isGuarded);
                full.client.setKillSwitch(!full.isGuarded);
            }
        }
        Paragraph {
            visible: guard.visible && text !== ""
            text: full.client ? full.client.killSwitchText : ""
            font: Kirigami.Theme.smallFont
            opacity: 0.75
        }

        PlasmaComponents.Button {
            Layout.fillWidth: true
            visible: full.client !== null
            text: i18nd("culvert", "Open Culvert")
            onClicked: {
                full.applet.expanded = false;
                full.client.open();
            }
        }
    }
}
