// `culvert actions` and `culvert action`: every action of the API by its own name.
import { ACTION_NAMES, ACTIONS, type ActionName, actionRequest, argumentOf, subjectOf } from '../../../api/actions.ts';
import { type Run, show } from '../../context.ts';
import { EXIT, usage } from '../../errors.ts';
import { askToKeep, keepingOf, requestKept } from '../../keep.ts';
import { columns } from '../../terminal/columns.ts';
import { consent, readSecret } from '../../terminal/prompt.ts';
import { proxyConsent } from '../connection/proxy.ts';

export const listActions: Run = async context => {
  const { bold, cyan, dim } = context.style;
  show(context, { actions: listed() }, ({ actions }) =>
    columns(
      Object.entries(actions).map(([name, { value, summary, secret }]) => [
        name,
        secret ? `${value} (asked for)` : (value ?? ''),
        summary,
      ]),
      (text, column) => [bold, cyan, dim][column]!(text),
      context.width,
    ),
  );
  return EXIT.ok;
};

/** An action as `culvert actions --json` prints it. */
interface Listed {
  summary: string;
  /** Name of the value; absent for an action without one. */
  value?: string;
  secret?: true;
}

function listed(): Record<string, Listed> {
  const entries = ACTION_NAMES.map((name): [string, Listed] => {
    const argument = argumentOf(name);
    const { summary } = ACTIONS[name];
    if (!argument) return [name, { summary }];
    return [name, { summary, value: argument.placeholder, ...(argument.secret && { secret: true }) }];
  });
  return Object.fromEntries(entries);
}

export const action: Run = async (context, [name, given], options) => {
  if (!Object.hasOwn(ACTIONS, name!)) throw usage(`There is no action "${name}".`, nearest(name!));
  const actionName = name as ActionName;
  const argument = argumentOf(actionName);
  if (argument?.secret && given !== undefined) {
    throw usage(`${actionName} takes its value from a prompt or a pipe: other users can read a command line.`);
  }
  if (!argument && given !== undefined) throw usage(`${actionName} takes no value.`);
  const value = argument?.secret ? await readSecret(context, argument.placeholder) : given;
  if (argument && value === undefined) throw usage(`${actionName} needs a value: ${argument.placeholder}`);
  const consequence = FINAL[actionName];
  if (consequence) await consent(context, options, { consequence, question: `Perform ${actionName}?` });
  if (actionName === 'enableLocalProxy') {
    const before = await context.client.call('GET /api/snapshot');
    if (before.settings.Mode !== 'proxy') await proxyConsent(context, options, before);
  }
  const subject = subjectOf(actionName);
  const wanted = keepingOf(context, options);
  // connecting asks over SSH only, and other actions have no previous value to restore
  const isAsked = subject === 'connection' ? actionName === 'connect' && Boolean(context.env.SSH_CONNECTION) : subject;
  const keeping = isAsked || wanted.isWanted ? wanted : { asks: false };
  const response = await requestKept(context, actionRequest(actionName, value), keeping);
  if (context.json) show(context, response, () => '');
  context.say(`${actionName}: done.`);
  return askToKeep(context, subject ?? undefined, keeping);
};

/** Actions that can't be undone, with their consequences. */
const FINAL: { readonly [A in ActionName]?: string } = {
  deleteRegistration: 'Without a registration the tunnel does not work. A new one has another identity.',
  resetSettings:
    'This resets all settings of the tunnel client: mode, protocol, split tunnel, DNS and trusted networks.',
};

function nearest(name: string): string {
  const matches = ACTION_NAMES.filter(action => action.toLowerCase().includes(name.toLowerCase()));
  return matches.length ? `Did you mean ${matches.slice(0, 5).join(' or ')}?` : 'See: culvert actions';
}
