// The bridge's start in the image. It needs no pictures and no fonts.
import './environment.js';
import '../../share/culvert/bridge.js';
