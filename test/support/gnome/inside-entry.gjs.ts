// The panel with the driver of inside.gjs.ts in its process; the driver comes first, to note the names that are given.
import './inside.gjs.ts';
import '../../../gnome/panel/main.ts';
