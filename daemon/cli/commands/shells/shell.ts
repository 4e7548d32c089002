// `culvert shell`: parts of Culvert that run in the shell of a desktop, such as a tile, installed for this user.
import { type Run, show } from '../../context.ts';
import { EXIT, usage } from '../../errors.ts';
import { columns } from '../../terminal/columns.ts';
import { gnome } from './gnome.ts';
import { type Integration, placeOf } from './integration.ts';
import { plasma } from './plasma.ts';

/** Every shell that Culvert brings something for. */
const INTEGRATIONS: readonly Integration[] = [gnome, plasma];

export const listShells: Run = async context => {
  const place = placeOf(context.env);
  const shells = await Promise.all(
    INTEGRATIONS.map(async ({ name, title, status }) => ({ name, title, ...(await status(place)) })),
  );
  const { bold, dim } = context.style;
  show(context, { shells }, () =>
    columns(
      [
        ['NAME', 'STATE', 'WHAT'],
        ...shells.map(({ name, title, installed, on, note }) => [
          name,
          installed ? (on ? 'on' : 'off') : 'not installed',
          note ? `${title}. ${note}` : title,
        ]),
      ],
      (text, column, row) => (row ? (column === 0 ? bold(text) : text) : dim(text)),
      context.width,
    ),
  );
  return EXIT.ok;
};

export const installShell: Run = async (context, [name]) => {
  const lines = await integration(name).install(placeOf(context.env));
  show(context, { name, lines }, () => lines.join('\n'));
  return EXIT.ok;
};

export const removeShell: Run = async (context, [name]) => {
  const place = placeOf(context.env);
  const chosen = name === undefined ? INTEGRATIONS : [integration(name)];
  const lines: string[] = [];
  for (const each of chosen) lines.push(...(await each.remove(place)));
  show(context, { lines }, () => lines.join('\n') || 'Nothing is installed.');
  return EXIT.ok;
};

function integration(name: string | undefined): Integration {
  const chosen = INTEGRATIONS.find(each => each.name === name);
  if (!chosen)
    throw usage(`There is no shell "${name}".`, `There are: ${INTEGRATIONS.map(each => each.name).join(', ')}`);
  return chosen;
}
