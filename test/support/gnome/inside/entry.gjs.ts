// The panel with the driver of driver.gjs.ts in its process; the driver comes first, to note the names that are given.
import './driver.gjs.ts';
import '../../../../gnome/panel/main.ts';
