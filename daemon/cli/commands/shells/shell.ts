// `culvert shell`: the tile for the shell of a desktop, installed for this user.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Run, show } from '../../context.ts';
import { EXIT, usage } from '../../errors.ts';
import { columns } from '../../layout.ts';
import { removeFiles } from './files.ts';
import { gnome, placeOf } from './gnome.ts';

export const listShells: Run = async context => {
  const { name, title, status } = gnome;
  const state = await status(placeOf(context.env));
  const { bold, dim } = context.style;
  show(context, { shells: [{ name, title, ...state }] }, () =>
    columns(
      [
        ['NAME', 'STATE', 'WHAT'],
        [
          name,
          state.installed ? (state.on ? 'on' : 'off') : 'not installed',
          state.note ? `${title}. ${state.note}` : title,
        ],
      ],
      (text, column, row) => (row ? (column === 0 ? bold(text) : text) : dim(text)),
      context.width,
    ),
  );
  return EXIT.ok;
};

export const installShell: Run = async (context, [name]) => {
  assertKnown(name);
  const lines = await gnome.install(placeOf(context.env));
  show(context, { name, lines }, () => lines.join('\n'));
  return EXIT.ok;
};

export const removeShell: Run = async (context, [name]) => {
  if (name !== undefined) assertKnown(name);
  const place = placeOf(context.env);
  const lines = await gnome.remove(place);
  // earlier versions had an applet for Plasma
  const applet = join(place.records, 'plasma.json');
  if (existsSync(applet)) {
    removeFiles(applet);
    lines.push('The applet is removed.');
  }
  show(context, { lines }, () => lines.join('\n') || 'Nothing is installed.');
  return EXIT.ok;
};

function assertKnown(name: string | undefined): void {
  if (name !== gnome.name) throw usage(`There is no shell "${name}".`, `There are: ${gnome.name}`);
}
