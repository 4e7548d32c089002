// Converts the build's rendered alpha channels to colored ARGB pictures for tray hosts.
import GLib from 'gi://GLib?version=2.0';
import type { State } from '../../daemon/api/states.ts';
import type { Tone } from '../../daemon/view/form.ts';
import { pkgdatadir } from '../install-paths.ts';

/** `a(iiay)`: width, height, ARGB32 in network byte order. */
export type Pixmaps = [width: number, height: number, argb: Uint8Array][];

/** Format of the file that data/build/render-icons.js writes: per state, per size in pixels, the alpha channel in base64. */
type Rendered = Record<State, Record<string, string>>;

/**
 * Light tones for a dark panel; on a light panel, the dark outline from `colored` has a contrast of 3:1 (WCAG 2.1, 1.4.11).
 * A pixmap cannot follow the panel's color.
 */
const COLORS: Record<Tone, [red: number, green: number, blue: number]> = {
  success: [0x2e, 0xc2, 0x7e],
  accent: [0x62, 0xa0, 0xea],
  warning: [0xf5, 0xc2, 0x11],
  error: [0xff, 0x6b, 0x5e],
  neutral: [0xc0, 0xbf, 0xbc],
};

/**
 * Loads the rendered pictures and returns a function that colors a state's pictures.
 * Uses pixmaps because a host shows a blank for a name outside its theme, and not every host reads IconThemePath.
 * @throws GLib.Error if the file next to the program is missing.
 */
export function loadIcons(): (state: State, tone: Tone) => Pixmaps {
  const [, bytes] = GLib.file_get_contents(GLib.build_filenamev([pkgdatadir, 'tray-icons.json']));
  const rendered = JSON.parse(new TextDecoder().decode(bytes)) as Rendered;
  return (state, tone) =>
    Object.entries(rendered[state]).map(([size, alpha]) => [
      Number(size),
      Number(size),
      colored(GLib.base64_decode(alpha), Number(size), COLORS[tone]),
    ]);
}

/** Opacity of the outline: a contrast of at least 3:1 on a white panel, and invisible on a dark panel. */
const OUTLINE = 0.7;

/** Returns the colored glyph with a dark outline of one pixel. */
function colored(alpha: Uint8Array, size: number, color: [number, number, number]): Uint8Array {
  const argb = new Uint8Array(alpha.length * 4);
  const alphaAt = (x: number, y: number) => (x < 0 || y < 0 || x >= size || y >= size ? 0 : alpha[y * size + x]!);
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const own = alphaAt(x, y) / 255;
      const around = Math.max(alphaAt(x - 1, y), alphaAt(x + 1, y), alphaAt(x, y - 1), alphaAt(x, y + 1)) / 255;
      const outline = Math.max(around - own, 0) * OUTLINE;
      const total = own + outline * (1 - own);
      const share = total === 0 ? 0 : own / total;
      const at = (y * size + x) * 4;
      // one by one: an array for each pixel would make a megabyte of garbage at each change of the icon
      argb[at] = Math.round(total * 255);
      for (let i = 0; i < 3; i++) argb[at + 1 + i] = Math.round(color[i]! * share);
    }
  return argb;
}
