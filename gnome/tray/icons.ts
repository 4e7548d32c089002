// The tray's pictures as a host wants them: ARGB, from the alpha channels that the build rendered.
import GLib from 'gi://GLib?version=2.0';
import { pkgdatadir } from '../place.ts';
import type { Look, Tone } from '../view.ts';

/** `a(iiay)`: width, height, ARGB32 in network byte order. */
export type Pixmaps = [width: number, height: number, argb: Uint8Array][];

/** What data/icons/render.js writes: per look, per size in pixels, the alpha channel in base64. */
type Rendered = Record<Look, Record<string, string>>;

/** Middle tones, readable on a light and on a dark panel: a pixmap cannot follow the panel's colour. */
const COLOURS: Record<Tone, [red: number, green: number, blue: number]> = {
  success: [0x2e, 0xc2, 0x7e],
  accent: [0x35, 0x84, 0xe4],
  warning: [0xe5, 0xa5, 0x0a],
  error: [0xe0, 0x1b, 0x24],
  neutral: [0x9a, 0x99, 0x96],
};

/**
 * Loads the rendered pictures and returns what colours one.
 * Pixmaps and not icon names: a name that the host's theme lacks is a blank, and not every host looks at IconThemePath.
 * @throws GLib.Error when the file beside the program is missing.
 */
export function loadIcons(): (look: Look, tone: Tone) => Pixmaps {
  const [, bytes] = GLib.file_get_contents(GLib.build_filenamev([pkgdatadir, 'tray-icons.json']));
  const rendered = JSON.parse(new TextDecoder().decode(bytes)) as Rendered;
  return (look, tone) =>
    Object.entries(rendered[look]).map(([size, alpha]) => [
      Number(size),
      Number(size),
      coloured(GLib.base64_decode(alpha), COLOURS[tone]),
    ]);
}

function coloured(alpha: Uint8Array, colour: [number, number, number]): Uint8Array {
  const argb = new Uint8Array(alpha.length * 4);
  alpha.forEach((a, i) => {
    argb.set([a, ...colour], i * 4);
  });
  return argb;
}
