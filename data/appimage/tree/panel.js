// The panel's start in the image. The order matters: modules run as they are imported.
import './pictures.js';
import './environment.js';
import '../../share/culvert/panel.js';
