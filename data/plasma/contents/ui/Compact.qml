// The icon in a panel, whose shape shows the state.
import QtQuick
import org.kde.kirigami as Kirigami

MouseArea {
    id: area

    required property var applet
    property bool wasExpanded: false

    hoverEnabled: true
    activeFocusOnTab: true
    Accessible.role: Accessible.Button
    Accessible.name: `${applet.toolTipMainText}: ${applet.toolTipSubText}`
    Accessible.onPressAction: applet.expanded = !applet.expanded

    onContainsMouseChanged: applet.isHovered = containsMouse
    // a press closes the popup, before the click
    onPressed: wasExpanded = applet.expanded
    onClicked: applet.expanded = !wasExpanded
    Keys.onPressed: event => {
        if ([Qt.Key_Space, Qt.Key_Enter, Qt.Key_Return, Qt.Key_Select].includes(event.key)) {
            applet.expanded = !applet.expanded;
            event.accepted = true;
        }
    }

    Kirigami.Icon {
        anchors.fill: parent
        source: area.applet.shape
        isMask: true
        color: Kirigami.Theme.textColor
        active: area.containsMouse || area.activeFocus
        Accessible.ignored: true
    }
}
