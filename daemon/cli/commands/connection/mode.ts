// `culvert mode`, `protocol` and `proxy`: show what is set, or set it.
import { type ActionName, actionRequest, subjectOf } from '../../../api/actions.ts';
import type { ActionRequest, Snapshot } from '../../../api/schema.ts';
import { printable } from '../../../core/printable.ts';
import { protocolOf } from '../../../state/status-line.ts';
import { subjectLabel } from '../../../view/states/changes.ts';
import { usesHttp2 } from '../../../view/states/http2.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { consent, createProgress, isAttended } from '../../dialog.ts';
import { EXIT, sayOld, unknown, usage } from '../../errors.ts';
import { askToKeep, forSeconds, keepingOf, limited, requestKept, sayDone } from '../../keep.ts';
import { MASQUE_OPTIONS, MODES, PROTOCOLS } from '../../labels.ts';
import { columns } from '../../layout.ts';
import {
  besideExclusion,
  considerSession,
  offerPreset,
  requestInSession,
  subjectsOf,
  withExclusion,
} from '../../session.ts';

export const mode: Run = async (context, [name], options) => {
  if (name !== undefined) return set(context, options, { action: 'setMode', value: choose('mode', name, MODES) });
  const snapshot = await context.client.call('GET /api/snapshot');
  return print(context, 'mode', snapshot.settings.Mode ?? null, { names: MODES, snapshot });
};

export const protocol: Run = async (context, [name], options) => {
  if (name !== undefined) {
    const value = choose('protocol', name, { ...PROTOCOLS, ...MASQUE_OPTIONS });
    return value === 'MASQUE' || value === 'WireGuard'
      ? set(context, options, { action: 'setProtocol', value })
      : setMasqueOptions(context, options, value);
  }
  const snapshot = await context.client.call('GET /api/snapshot');
  return print(context, 'protocol', protocolOf(snapshot), { names: PROTOCOLS, snapshot });
};

async function setMasqueOptions(
  context: Context,
  options: Options,
  value: keyof typeof MASQUE_OPTIONS,
): Promise<number> {
  const code = await set(context, options, { action: 'setMasqueOptions', value });
  const now = protocolOf(await context.client.call('GET /api/snapshot'));
  if (now && !/^masque/i.test(now))
    context.say(`The protocol is ${printable(now)}. To use this: culvert protocol MASQUE`);
  return code;
}

async function set(context: Context, options: Options, request: ActionRequest): Promise<number> {
  const limit = forSeconds(options);
  const wanted = keepingOf(context, options);
  const session = await considerSession(context, request);
  // a temporary change needs no confirmation unless the user asks for it, or it may end the user's own session
  const isAsked = limit === undefined || wanted.isWanted || (session !== null && session.survives !== 'yes');
  const keeping = isAsked ? wanted : { asks: false };
  const isExcluded = session !== null && (await offerPreset(context, session, keeping));
  const body: ActionRequest = {
    ...request,
    ...limited(besideExclusion(keeping, isExcluded)),
    ...(limit === undefined ? {} : { forSeconds: limit }),
  };
  const response = await withExclusion(context, isExcluded, () => context.client.call('POST /api/action', { body }));
  if (context.json) show(context, response, () => '');
  const subject = subjectOf(request.action)!;
  const done = `${subjectLabel(subject, english)} set to ${request.value}.`;
  await sayDone(context, subject, done, limit !== undefined);
  return askToKeep(context, subjectsOf(subject, isExcluded), keeping);
}

/** Prints the current name for a program to read; on a terminal, prints all names and marks the current one. */
function print(
  context: Context,
  what: string,
  current: string | null,
  { names, snapshot }: { names: Record<string, string>; snapshot: Snapshot },
): undefined {
  if (current === null) throw unknown(what, 'settings', snapshot);
  const old = sayOld(context, { settings: what }, snapshot);
  const http2 = what === 'protocol' && current === 'MASQUE' && usesHttp2(snapshot);
  const facts = { [what]: current, ...(http2 ? { http2 } : {}) };
  if (context.json) return show(context, { ok: true, ...facts, ...old }, () => '') as undefined;
  context.print(context.stdout.isTTY ? choicesText(context, current, names) : printable(current));
  if (http2) context.say('MASQUE uses HTTP/2 (TCP).');
}

function choicesText({ style, width }: Context, current: string, names: Record<string, string>): string {
  const choices = Object.hasOwn(names, current) ? names : { [current]: 'set by the tunnel client', ...names };
  const rows = Object.entries(choices).map(([name, summary]) => [name === current ? '●' : ' ', name, summary]);
  return columns(rows, (text, column) => [style.green, style.bold, style.dim][column]!(text), width);
}

/** Finds a name in any case, and returns it as the contract spells it. */
function choose<K extends string>(what: string, name: string, names: Record<K, string>): K {
  const choice = (Object.keys(names) as K[]).find(key => key.toLowerCase() === name.toLowerCase());
  if (!choice) throw usage(`There is no ${what} "${name}".`, `Choose one of: ${Object.keys(names).join(', ')}`);
  return choice;
}

export const proxyStatus: Run = async context => {
  const snapshot = await context.client.call('GET /api/snapshot');
  const state = { ...describe(snapshot), ...sayOld(context, { settings: 'mode' }, snapshot) };
  show(context, { ok: true, ...state }, ({ enabled, address }) =>
    enabled ? `Local proxy on${address ? ` at ${address}` : ''} (SOCKS5 and HTTP).` : 'Local proxy off.',
  );
  return 0;
};

export const proxyOn: Run = async (context, _, options) => {
  const keeping = keepingOf(context, options);
  const before = await context.client.call('GET /api/snapshot');
  const wasEnabled = describe(before).enabled;
  if (!wasEnabled) {
    await considerSession(context, { action: 'enableLocalProxy' });
    await proxyConsent(context, options, before);
  }
  if (options.port !== undefined)
    await context.client.call('POST /api/action', { body: { action: 'setProxyPort', value: String(options.port) } });
  const progress = createProgress(context);
  if (context.stderr.isTTY) progress.step('Switching the local proxy on, and waiting until it answers.');
  const response = await requestKept(context, { action: 'enableLocalProxy' }, keeping).finally(progress.end);
  if (context.json) show(context, response, () => '');
  const { address } = describe(await context.client.call('GET /api/snapshot'));
  context.say(`Local proxy on${address ? ` at ${address}` : ''}.`);
  if (!wasEnabled) context.say(`${consequenceOf(before, 'now')}.`);
  const code = await askToKeep(context, 'mode', keeping);
  if (code !== EXIT.ok) await setBack(context, before);
  return code;
};

/**
 * Asks for consent to switch the proxy on: it changes the mode of the whole machine. A script that gives a limit needs
 * no `--yes`, since the change then reverts automatically.
 */
export async function proxyConsent(context: Context, options: Options, before: Snapshot): Promise<void> {
  // don't ask when the tunnel client will refuse anyway
  if (before.status.blocked || (options.confirmWithin !== undefined && !isAttended(context))) return;
  await consent(context, options, { consequence: proxyConsequence(before), question: 'Switch the proxy on?' });
}

/** Consequences of switching the proxy on, in whole sentences. */
export function proxyConsequence(before: Snapshot): string {
  return `The local proxy is off, and switching it on changes the mode of the whole machine to proxy. ${consequenceOf(before, 'then')}.`;
}

/** A sentence about the effect of proxy mode on all other traffic, and how to undo it. */
export function consequenceOf({ settings: { Mode: mode }, killSwitch }: Snapshot, when: 'now' | 'then'): string {
  const goes = killSwitch.active ? 'is blocked by the kill switch' : 'bypasses WARP';
  const rest = mode === 'doh' || mode === 'dot' ? `DNS ${when} bypasses WARP` : `Other traffic ${when} ${goes}`;
  return `${rest}; back: culvert mode ${mode ?? 'warp'}`;
}

/** Restores the mode, protocol and connection from before the proxy. */
export async function setBack({ client }: Context, before: Snapshot): Promise<void> {
  const request = (action: ActionName, value?: string) =>
    client.call('POST /api/action', { body: actionRequest(action, value) });
  const now = await client.call('GET /api/snapshot', { query: { fresh: '1' } });
  if (before.settings.Mode && now.settings.Mode !== before.settings.Mode)
    await request('setMode', before.settings.Mode);
  const protocol = before.settings['WARP tunnel protocol'];
  if (protocol === 'WireGuard' && now.settings['WARP tunnel protocol'] !== protocol)
    await request('setProtocol', protocol);
  const wasDown = before.status.state === 'disconnected' || before.status.state === 'disconnecting';
  if (wasDown && now.status.state !== 'disconnected') await request('disconnect');
}

/** Leaves every other mode alone: `proxy off` must not switch from DNS only to the tunnel. */
export const proxyOff: Run = async (context, _, options) => {
  const keeping = keepingOf(context, options);
  const snapshot = await context.client.call('GET /api/snapshot');
  const { enabled } = describe(snapshot);
  if (!enabled) {
    const old = sayOld(context, { settings: 'mode' }, snapshot);
    if (context.json) show(context, { ok: true, enabled: false, address: null, ...old }, () => '');
    context.say('The local proxy is already off.');
    return 0;
  }
  const request: ActionRequest = { action: 'setMode', value: 'warp' };
  const session = await considerSession(context, request);
  if (isAttended(context) || !keeping.isWanted)
    await consent(context, options, {
      consequence: 'Switching the local proxy off changes the mode of the whole machine to warp.',
      question: 'Switch the proxy off?',
    });
  const isExcluded = await requestInSession(context, request, { session, keeping });
  context.say('Local proxy off; the mode is warp.');
  return askToKeep(context, subjectsOf('mode', isExcluded), keeping);
};

/** @throws {Failure} while the mode is not known */
function describe(snapshot: Snapshot): { enabled: boolean; address: string | null } {
  const { settings, tunnel } = snapshot;
  if (settings.Mode === undefined) throw unknown('mode', 'settings', snapshot);
  const enabled = settings.Mode === 'proxy';
  return { enabled, address: enabled && tunnel.proxyPort !== null ? `127.0.0.1:${tunnel.proxyPort}` : null };
}
