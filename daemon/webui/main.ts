// Starts the browser page: shows the state that the daemon drew, and then makes it live.
import style from './style.css';

const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets = [sheet];

const root = document.getElementById('app')!;
// the daemon does not learn which page the address names: it draws the first one
root.hidden = !['', '#/connection'].includes(location.hash);
// bundled into this script, but its modules are not run before this
const begin = async () => (await import('./start.tsx')).start(root);
// making the page live takes longer than a frame, so it waits for the one that paints, and the one that shows that it painted
if (root.firstChild && !root.hidden && !document.hidden)
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(begin)));
else void begin();
