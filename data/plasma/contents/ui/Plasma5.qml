// Shown by Plasma 5, which can't load the applet.
import QtQuick 2.15
import QtQuick.Layouts 1.15
import org.kde.plasma.components 3.0 as PlasmaComponents

PlasmaComponents.Label {
    Layout.minimumWidth: implicitWidth
    Layout.minimumHeight: implicitHeight
    text: i18nd("culvert", "This widget needs Plasma 6.4 or newer.")
}
