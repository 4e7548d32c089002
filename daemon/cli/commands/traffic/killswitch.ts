// Runs `culvert killswitch`, which sets and pauses the kill switch, prints its state, and lists blocked traffic.
import { setTimeout as delay } from 'node:timers/promises';
import type { BlockedEntry, BlockedResponse, KillSwitch, KillSwitchRequest } from '../../../api/schema.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../../core/terminal.ts';
import type { Call } from '../../../killswitch/client/service-link.ts';
import { timeOfDay } from '../../../view/format.ts';
import { originOf, READ_BLOCKED_MS, ruleText, targetOf } from '../../../view/forms/tunnel/killswitch.ts';
import { demoSentence } from '../../../view/states/killswitch.ts';
import { demoText } from '../../../view/states/state-table.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show, showDocument } from '../../context.ts';
import { confirm, createProgress } from '../../dialog.ts';
import { EXIT, Failure, orNull, usage, withoutDaemon } from '../../errors.ts';
import { askToKeep, confirmWithinOf, type Keeping, keepingOf } from '../../keep.ts';
import { columns } from '../../layout.ts';

export const killSwitchStatus: Run = async context => {
  const state = await orWithoutDaemon(
    () => context.client.call('GET /api/killswitch'),
    async () => {
      const { readWithoutDaemon, WAY_OUT } = await import('../../../killswitch/client/without-daemon.ts');
      context.say('The Culvert daemon is not running. The root service reports:');
      const report = await readWithoutDaemon();
      if (report.enabled) context.say(WAY_OUT);
      return { ok: true as const, ...report };
    },
  );
  if (context.isDemo())
    context.say(demoText(`this is the kill switch of this machine. ${demoSentence(english)}`, english));
  const shown = context.isDemo() ? { ...state, command: null } : state;
  show(context, state, () => describe(shown, context.style));
  return EXIT.ok;
};

export const killSwitchOn: Run = async (context, _, options) => {
  const allowLan = options.allowLan === true;
  const wanted = keepingOf(context, options);
  if (options.force !== true) await considerSession(context, allowLan);
  const keeping = options.confirmWithin === undefined ? await asFarAsPossible(context, wanted) : wanted;
  const { confirmWithin } = keeping;
  await set(context, { enabled: true, allowLan, ...(confirmWithin === undefined ? {} : { confirmWithin }) });
  if (confirmWithin === undefined || keeping.asks)
    context.say('This blocks all users of this machine, even after a restart. Turning it off needs an administrator.');
  return askToKeep(context, 'killSwitch', keeping);
};

export const killSwitchOff: Run = async (context, _, options) => {
  const confirmWithin = confirmWithinOf(options.confirmWithin);
  await set(context, { enabled: false, allowLan: false, ...(confirmWithin === undefined ? {} : { confirmWithin }) });
  // turning it off can't lock anyone out, so don't ask
  return askToKeep(context, 'killSwitch', { confirmWithin, asks: false });
};

/** Drops the confirmation for an older root service, which can't revert, and during a pause, so that blocking still works. */
async function asFarAsPossible(context: Context, keeping: Keeping): Promise<Keeping> {
  if (keeping.confirmWithin === undefined) return keeping;
  const { confirmable, pausedUntil } = await context.client.call('GET /api/killswitch');
  return confirmable && pausedUntil === null ? keeping : { asks: false };
}

export const killSwitchPause: Run = async (context, [minutes = ''], options) => {
  const seconds = Math.round(Number(minutes) * 60);
  if (!/^\d{1,2}(\.\d{1,3})?$/.test(minutes) || seconds < 1 || seconds > 3600)
    throw usage(`A pause lasts up to 60 minutes, not "${minutes}".`);
  const state = await orWithoutDaemon(
    () => context.client.call('POST /api/killswitch/pause', { body: { seconds } }),
    () => ask({ method: 'Pause', seconds }),
  );
  if (options.wait !== true) show(context, state, () => describe(state, context.style));
  else await countDown(context, state);
  return EXIT.ok;
};

export const killSwitchResume: Run = async context => {
  const state = await orWithoutDaemon(
    () => context.client.call('POST /api/killswitch/pause', { body: { seconds: 0 } }),
    () => ask({ method: 'Pause', seconds: 0 }),
  );
  show(context, state, () => describe(state, context.style));
  return EXIT.ok;
};

/** Falls back to `without` if no daemon answers, so that a blocked user can always turn the block off. */
async function orWithoutDaemon<T>(withDaemon: () => Promise<T>, without: () => Promise<T>): Promise<T> {
  return (await orNull(withDaemon())) ?? without();
}

async function ask(call: Call): Promise<KillSwitch & { ok: true }> {
  const { askWithoutDaemon } = await import('../../../killswitch/client/without-daemon.ts');
  return { ok: true, ...(await withoutDaemon(() => askWithoutDaemon(call))) };
}

/** Prints the script that installs the root service; needs no daemon. */
export const killSwitchInstaller: Run = async context => {
  const [{ installerScript }, { programs }, { dirname }] = await Promise.all([
    import('../../../killswitch/client/without-daemon.ts'),
    import('../../../system/installation.ts'),
    import('node:path'),
  ]);
  if (context.stdout.isTTY) context.say('This is a script for root: culvert killswitch installer | sudo sh');
  showDocument(context, { script: installerScript(dirname(programs.panel)) }, ({ script }) => script.trimEnd());
  return EXIT.ok;
};

async function set(context: Context, body: KillSwitchRequest): Promise<void> {
  const { enabled, confirmWithin } = body;
  const call = () => context.client.call('POST /api/killswitch', { body });
  // a change can't be confirmed without a daemon
  const needsDaemon = enabled || confirmWithin !== undefined;
  const state = needsDaemon ? await call() : await orWithoutDaemon(call, () => ask({ method: 'Disable' }));
  show(context, state, () => describe(state, context.style));
  if (enabled && state.active === false && state.pausedUntil === null)
    throw new Failure('It was turned on but does not block.', { hint: 'See: culvert doctor' });
}

/** Warns over SSH: the block cuts off a remote session, because its answers would bypass the tunnel. */
async function considerSession(context: Context, allowLan: boolean): Promise<void> {
  const peer = cutPeer(context.env.SSH_CONNECTION, allowLan);
  if (peer === null) return;
  if ((await context.client.call('GET /api/killswitch')).active) return; // this session already works with the block
  const warning = `You are connected over SSH from ${printable(peer)}, and the block would cut this session off.`;
  const hint = isLan(peer)
    ? 'Leave the local network reachable with --allow-lan, or insist with --force.'
    : 'Insist with --force, if you can reach this machine in another way.';
  if (!context.stdin.isTTY || context.json) throw usage(warning, hint);
  context.say(warning);
  if (!(await confirm(context, 'Turn it on anyway?')))
    throw new Failure('Nothing was changed.', { code: 'usage', hint });
}

/** Returns the SSH peer that the block would cut off, or null. @param connection `SSH_CONNECTION`, which begins with the peer */
export function cutPeer(connection: string | undefined, allowLan: boolean): string | null {
  const peer = connection
    ?.trim()
    .split(/\s+/)[0]
    ?.replace(/%.*$/, '')
    .replace(/^::ffff:/i, '');
  if (!peer || /^127\.|^::1$/.test(peer)) return null;
  return allowLan && isLan(peer) ? null : peer;
}

function isLan(address: string): boolean {
  return /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|fe[89ab][\da-f]:|f[cd][\da-f]{2}:)/i.test(address);
}

/** Counts down the pause until the block returns. Ctrl+C does not end the pause. */
async function countDown(context: Context, state: KillSwitch): Promise<void> {
  const progress = createProgress(context);
  let now = state;
  try {
    const stream = await context.client.events();
    const close = () => stream.close();
    context.signal.addEventListener('abort', close, { once: true });
    const tick = () => progress.step(`${remaining(now)} left of the pause; Ctrl+C leaves it paused`);
    const timer = context.stderr.isTTY ? setInterval(tick, 1000) : undefined;
    tick();
    try {
      for await (const { event, data } of stream.events) {
        if (event === 'snapshot') now = data.killSwitch;
        if (event === 'killSwitch') now = data;
        if (now.pausedUntil === null) break;
      }
    } finally {
      clearInterval(timer);
      context.signal.removeEventListener('abort', close);
      stream.close();
    }
  } finally {
    progress.end();
  }
  show(context, { ok: true, ...now }, () => describe(now, context.style));
}

function describe(state: KillSwitch, style: Style): string {
  const { enabled, allowLan, active, detail, pausedUntil, unconfirmed, installed, command } = state;
  const head = `Kill switch ${enabled ? 'on' : 'off'}${enabled && allowLan ? ', local network allowed' : ''}`;
  const lines = [`${head}; ${installed || enabled ? measured(state, style) : 'it is not installed'}.`];
  if (pausedUntil !== null) lines.push(style.yellow(`Paused, ${remaining(state)} left.`));
  if (detail && pausedUntil === null) lines.push(printable(detail));
  if (active && state.protection === 'none') lines.push('Nothing restores the rules if another program removes them.');
  if (unconfirmed)
    lines.push(`Not confirmed: reverts at ${timeOfDay(unconfirmed.confirmBy, true)} unless you run: culvert keep`);
  else if (enabled && active && !state.bootGuard) lines.push('It will not block while the machine starts.');
  if (!installed && command) lines.push(`Install it with: ${printable(command)}`);
  return lines.join('\n');
}

function measured({ enabled, active, pausedUntil }: KillSwitch, style: Style): string {
  if (active === null) return style.yellow('whether it blocks is not known');
  if (active) return style.green('it blocks');
  return enabled && pausedUntil === null ? style.red('it does not block') : 'it does not block';
}

/** Returns the rest of a pause, such as `4:59`. */
function remaining({ pausedUntil }: KillSwitch): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(pausedUntil ?? '') - Date.now()) / 1000)) || 0;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

export const killSwitchBlocked: Run = async (context, _, options) => {
  if (options.watch) return watch(context);
  const list = await read(context);
  show(context, list, () => table(list, context));
  return EXIT.ok;
};

/** Starts the recording, and prints a line for each destination and whenever more of its packets are blocked. */
async function watch(context: Context): Promise<number> {
  let packets: ReadonlyMap<string, number> = new Map();
  let isFirst = true;
  while (!context.signal.aborted) {
    const list = await read(context);
    if (isFirst && !context.json && !list.entries.length) context.say('Watching what is blocked. Ctrl+C ends it.');
    isFirst = false;
    const next = compare(list.entries, packets);
    packets = next.packets;
    for (const entry of next.further.reverse())
      context.print(context.json ? JSON.stringify({ ok: true, ...entry }) : lineOf(entry));
    await delay(READ_BLOCKED_MS, undefined, { signal: context.signal }).catch(() => {});
  }
  return EXIT.ok;
}

/**
 * Compares the list with the previous list. A destination that left the list counts as new when it returns.
 * @param before previous number of packets per destination
 * @returns entries with more blocked packets, and the current number of packets per destination
 */
export function compare(entries: readonly BlockedEntry[], before: ReadonlyMap<string, number>) {
  const packets = new Map<string, number>();
  const further: BlockedEntry[] = [];
  for (const entry of entries) {
    const key = JSON.stringify({ ...entry, packets: 0, since: '', last: '', programs: [] });
    packets.set(key, entry.packets);
    if (before.get(key) !== entry.packets) further.push(entry);
  }
  return { further, packets };
}

/** Reads the list; without a daemon, as for root, asks the root service directly. */
async function read(context: Context): Promise<BlockedResponse> {
  const answer = await orNull(context.client.call('GET /api/killswitch/blocked'));
  if (answer) return answer;
  const [{ readBlocked }, { SERVICE_PATHS }] = await Promise.all([
    import('../../../killswitch/client/records.ts'),
    import('../../../killswitch/client/published-state.ts'),
  ]);
  return { ok: true, ...(await withoutDaemon(() => readBlocked(SERVICE_PATHS))) };
}

function table(list: BlockedResponse, context: Context): string {
  const { recordingSince, entries, hidden, missed } = list;
  if (recordingSince === null) return 'Nothing is blocked: the root service is not running.';
  const since = timeOfDay(recordingSince, true);
  const more = [
    ...(hidden ? [`${hidden} more of other users; root sees all: sudo culvert killswitch blocked`] : []),
    ...(missed ? [`${missed} packets more since ${since}, for which the list has no room.`] : []),
  ];
  if (!entries.length)
    return [`Nothing was blocked since ${since}, when the recording began. It goes on for a minute.`, ...more].join(
      '\n',
    );
  const rows = entries.map(entry => [
    timeOfDay(entry.last, true),
    originOf(entry, english),
    targetOf(entry),
    String(entry.packets),
    timeOfDay(entry.since, true),
    ruleText(entry, english),
  ]);
  const heading = ['LAST', 'PROGRAM', 'TO', 'PACKETS', 'SINCE', 'RULE'];
  return [columns([heading, ...rows], text => text, context.width), ...more].join('\n');
}

function lineOf(entry: BlockedEntry): string {
  const parts = [timeOfDay(entry.last, true), originOf(entry, english), '->', targetOf(entry)];
  return printable(
    `${parts.join(' ')}, ${entry.packets} packet${entry.packets === 1 ? '' : 's'}: ${ruleText(entry, english)}`,
  );
}
