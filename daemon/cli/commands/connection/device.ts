// Runs the commands for the WARP account and device, and for single actions.
import {
  ACTION_NAMES,
  ACTIONS,
  type ActionName,
  actionRequest,
  argumentOf,
  subjectOf,
  teamOf,
} from '../../../api/actions.ts';
import { ApiError } from '../../../api/client.ts';
import type { Account } from '../../../api/schema.ts';
import { printable } from '../../../core/printable.ts';
import { wordMessage } from '../../../view/message.ts';
import { lostRegistration } from '../../../view/states/causes.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show } from '../../context.ts';
import { announce, consent, openPage, readSecret } from '../../dialog.ts';
import { EXIT, sayOld, usage } from '../../errors.ts';
import { askToKeep, keepingOf } from '../../keep.ts';
import { columns } from '../../layout.ts';
import { considerSession, requestInSession, subjectsOf } from '../../session.ts';
import { proxyConsent } from './mode.ts';

export const account: Run = async context => {
  const details = await context.client.call('GET /api/account');
  const why = context.json ? null : await lost(context, details.registered === false);
  sayOld(context, { account: 'account' }, details);
  show(context, details, () =>
    details.registered === false ? (why ?? NEVER) : [text(context, details), why].filter(Boolean).join('\n\n'),
  );
  return EXIT.ok;
};

/** Next step, which completes the registration. */
const SIGN_IN =
  'Sign in with the browser. If it does not return to Culvert, copy the address of the last page, and run: culvert account token';

export const register: Run = (context, _, options) =>
  typeof options.organization === 'string'
    ? sendAction(context, SIGN_IN, 'registerOrganization', teamOf(options.organization))
    : sendAction(context, 'This device is registered.', 'register');

export const deleteRegistration: Run = async (context, _, options) => {
  const consequence = 'Without a registration the tunnel does not work. A new one has another identity.';
  await consent(context, options, { consequence, question: 'Delete the registration of this device?' });
  return sendAction(context, 'The registration is deleted.', 'deleteRegistration');
};

export const license: Run = async context =>
  sendAction(context, 'The license is applied.', 'setLicense', await readSecret(context, 'License key'));

export const registrationToken: Run = async context =>
  sendAction(
    context,
    'The registration is complete.',
    'setRegistrationToken',
    await readSecret(context, 'Registration token'),
  );

/** Runs when the desktop passes the final address of a sign-in. If no sign-in started here, opens the account page. */
export const signIn: Run = async context => {
  const title = 'Joining an organization';
  try {
    const body = { address: await readSecret(context, 'Address of the sign-in') };
    const response = await context.client.call('POST /api/account/sign-in', { body });
    if (context.json) show(context, response, () => '');
    context.say('The registration is complete.');
    await announce(context, title, 'This computer belongs to the organization now.');
    return EXIT.ok;
  } catch (error) {
    const isUnasked = error instanceof ApiError && error.problem.code === 'precondition-failed';
    const text = isUnasked
      ? 'A website wants this computer to join an organization. If you want that, enter its name here first.'
      : (error as Error).message;
    await announce(context, title, text);
    if (isUnasked) await openPage(context, 'account');
    throw error;
  }
};

export const acceptTerms: Run = context =>
  sendAction(
    context,
    'Accepted: https://www.cloudflare.com/application/terms/ and https://www.cloudflare.com/application/privacypolicy/',
    'acceptTerms',
  );

async function sendAction(context: Context, done: string, action: ActionName, value?: string): Promise<number> {
  const response = await context.client.call('POST /api/action', {
    body: actionRequest(action, value),
  });
  if (context.json) show(context, response, () => '');
  context.say(done);
  return EXIT.ok;
}

const NEVER = 'This device is not registered. Register it with: culvert account register';

/**
 * Returns why there is no registration, or not the organization's, with what was seen and the command that is the way out.
 * @returns null without a cause
 */
async function lost({ client }: Context, isMissing: boolean): Promise<string | null> {
  const { status } = await client.call('GET /api/snapshot');
  const found = lostRegistration(isMissing ? { ...status, blocked: 'not-registered' } : status, english);
  if (!found) return null;
  const seen = (status.registration?.evidence ?? []).map(line => `  ${wordMessage(line, english)}`);
  const next = `${found.step.does}: ${found.step.command}`;
  return [`${found.title}. ${found.sentence}`, ...seen, next].map(printable).join('\n');
}

function text({ style, width }: Context, details: Account): string {
  const rows: [string, string | null][] = [
    ['Type', details.type],
    ['Organization', details.organization],
    ['Account', details.accountId],
    ['Device', details.deviceId],
    ['License', details.license],
    ['Managed', details.managed === null ? null : details.managed ? 'by an organization' : 'no'],
  ];
  const pairs = rows.filter((row): row is [string, string] => Boolean(row[1]));
  const facts = columns(pairs, (cell, column) => (column === 0 ? style.dim(cell) : cell), width);
  if (!details.devices.length) return facts || 'Registered; the tunnel CLI reports no more.';
  const devices = details.devices.map(device => [
    device.active ? '●' : '○',
    device.name ?? 'unnamed',
    [device.model, device.os].filter(Boolean).join(', '),
    device.deviceId,
  ]);
  const paint = (cell: string, column: number) =>
    column === 0 ? style.green(cell) : column > 1 ? style.dim(printable(cell)) : cell;
  return `${facts}\n\n${style.bold('Devices')}\n${columns(devices, paint, width)}`;
}

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

/** An action in the output of `culvert actions --json`. */
interface Listed {
  summary: string;
  /** Name of the value; absent for an action without a value. */
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
  const request = actionRequest(actionName, value);
  const session = await considerSession(context, request);
  if (actionName === 'enableLocalProxy') {
    const before = await context.client.call('GET /api/snapshot');
    if (before.settings.Mode !== 'proxy') await proxyConsent(context, options, before);
  }
  const subject = subjectOf(actionName);
  const wanted = keepingOf(context, options);
  // connecting asks over SSH only; actions without a subject have no previous value to restore
  const isAsked = subject === 'connection' ? session !== null && actionName === 'connect' : subject;
  const keeping = isAsked || wanted.isWanted ? wanted : { asks: false };
  const isExcluded = await requestInSession(context, request, { session, keeping });
  context.say(`${actionName}: done.`);
  return askToKeep(context, subject ? subjectsOf(subject, isExcluded) : undefined, keeping);
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
