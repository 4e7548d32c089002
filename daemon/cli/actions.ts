// `culvert actions` and `culvert action`: every action of the API by its own name.
import type { ActionName } from '../api/schema.ts';
import { type Run, show } from './context.ts';
import { EXIT, usage } from './exit.ts';
import { readSecret } from './secret.ts';
import { columns } from './terminal.ts';
import { ACTIONS, type ActionWords } from './vocabulary.ts';

export const listActions: Run = async context => {
  const { bold, cyan, dim } = context.style;
  show(context, ACTIONS, actions =>
    columns(
      Object.entries(actions).map(([name, { value, summary, secret }]) => [
        name,
        secret ? `${value} (asked for)` : (value ?? ''),
        summary,
      ]),
      (text, column) => [bold, cyan, dim][column]!(text),
    ),
  );
  return EXIT.ok;
};

export const action: Run = async (context, [name, given]) => {
  const words: ActionWords | undefined = Object.hasOwn(ACTIONS, name!) ? ACTIONS[name as ActionName] : undefined;
  if (!words) throw usage(`There is no action "${name}".`, nearest(name!));
  if (words.secret && given !== undefined) {
    throw usage(`${name} takes its value from a prompt or a pipe: other users can read a command line.`);
  }
  if (!words.value && given !== undefined) throw usage(`${name} takes no value.`);
  const value = words.secret ? await readSecret(context, words.value ?? 'value') : given;
  if (words.value && value === undefined) throw usage(`${name} needs a value: ${words.value}`);
  const response = await context.client.call('POST /api/action', {
    body: value === undefined ? { action: name as ActionName } : { action: name as ActionName, value },
  });
  if (context.json) show(context, response, () => '');
  context.say(`${name}: done.`);
  return EXIT.ok;
};

function nearest(name: string): string {
  const found = Object.keys(ACTIONS).filter(known => known.toLowerCase().includes(name.toLowerCase()));
  return found.length ? `Did you mean ${found.slice(0, 5).join(' or ')}?` : 'See: culvert actions';
}
