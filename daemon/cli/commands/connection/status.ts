// Runs `culvert status`: prints the state once, follows it, or formats it for a status bar.
import { applyEvent } from '../../../api/apply-event.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { printable } from '../../../core/printable.ts';
import { clock, dateTime } from '../../../core/terminal.ts';
import {
  protocolOf,
  separator,
  statusJson,
  statusParts,
  statusWarning,
  unavailableLine,
} from '../../../state/status-line.ts';
import { BAR_FORMATS, type BarFormat, barLine, barStart } from '../../../view/bars.ts';
import { createLongTimer, shownState } from '../../../view/client/client-state.ts';
import { describeRemoteAccess, modeLabel } from '../../../view/client/labels.ts';
import { formatBytes, formatDuration, formatLatency, formatLoss } from '../../../view/format.ts';
import { placeDetail } from '../../../view/places.ts';
import { explainedCause } from '../../../view/states/findings.ts';
import { isKnownConnected, oldText, unknownWord } from '../../../view/states/summary.ts';
import { figuresOf } from '../../../view/states/words.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { EXIT, orNull, sayOld, usage } from '../../errors.ts';
import { asciiJson, columns, folded, isAsciiLocale } from '../../layout.ts';
import { follow } from '../../transport.ts';

export const status: Run = async (context, _, options) => {
  if (options.format !== undefined) return showBar(context, options);
  if (options.watch) return watch(context);
  const [snapshot, health, history] = await Promise.all([
    context.client.call('GET /api/snapshot', options.fresh ? { query: { fresh: '1' } } : {}),
    context.json && !options.long ? context.client.call('GET /api/health') : null,
    // a history that can't be read must not hide the state
    options.long && !context.json
      ? context.client.call('GET /api/history', { query: { since: '1s' } }).catch(() => null)
      : null,
  ]);
  const line = statusText(context, snapshot);
  const old = sayOld(context, namesOf(options, snapshot), snapshot);
  if (options.long) show(context, snapshot, () => `${line}\n${details(context, snapshot, history?.problem)}`);
  else show(context, { ...statusJson(snapshot, health?.port ?? null), ...old }, () => line);
  // on stderr, so that the status stays one line
  const warning = statusWarning(snapshot);
  if (warning && !context.json) context.say(warning);
  return options.check && !isKnownConnected(snapshot.status) ? EXIT.notConnected : EXIT.ok;
};

/** Names the values that are shown. Settings may be unknown, and the line of a state that needs the user omits them. */
function namesOf(options: Options, { status, settings }: Snapshot): Parameters<typeof sayOld>[1] {
  const line = { ...(settings.Mode === undefined ? {} : { settings: 'settings' }), splitTunnel: 'split tunnel' };
  if (options.long) return { ...line, account: 'account', tunnel: 'figures' };
  return status.blocked === null ? line : {};
}

/** Prints a line for each visible change; without a daemon, prints that the state is unavailable, or JSON with `ok: false`. */
async function watch(context: Context): Promise<number> {
  let shown: Snapshot | null = null;
  let port: number | null = null;
  let printed = '';
  let said: string | null = null;
  const timed = !context.json && context.stdout.isTTY;
  const put = (text: string) => {
    if (text !== printed) context.print(timed ? `${context.style.dim(now())}  ${text}` : text);
    printed = text;
  };
  const show = () => {
    if (!shown) return;
    long.follow(shown.status);
    const old = oldText(shown, english);
    const json = () => ({ ...statusJson(shown!, port), ...(shown!.hasOldParts ? { hasOldParts: true } : {}) });
    const text = () => statusText(context, shown!, timed ? now().length + 2 : 0);
    put(context.json ? JSON.stringify(json()) : text());
    if (old !== said && old && !context.json) context.say(`${old}.`);
    said = old;
  };
  const long = createLongTimer(show);
  for await (const followed of follow(context.client, context.signal, { isWhole: true })) {
    if (followed.kind === 'lost') {
      long.stop();
      // never shows an outdated state
      shown = null;
      put(context.json ? JSON.stringify({ ok: false, detail: followed.why }) : unavailableLine(context.style));
      context.say(`${followed.why} Waiting for it to come back.`);
      continue;
    }
    if (followed.kind === 'back') {
      context.say('The daemon is back.');
      continue;
    }
    if (context.json && followed.event.event === 'snapshot') ({ port } = await context.client.call('GET /api/health'));
    shown = applyEvent(shown, followed.event);
    show();
  }
  long.stop();
  return EXIT.ok;
}

function details({ style, width }: Context, snapshot: Snapshot, unrecorded?: string): string {
  const { status, settings, tunnel, splitTunnel, account, tunnelCli, remoteAccess } = snapshot;
  const cause = explainedCause(snapshot, english);
  const routes = splitTunnel.ips.length + splitTunnel.hosts.length;
  const { latencyMs, loss } = figuresOf(snapshot);
  const rows: [string, string | null | undefined][] = [
    ['Since', dateTime(status.since)],
    ['Cause', cause && printable(`${cause.title}. ${cause.sentence}`)],
    ['Network', printable(unknownWord(status, 'network') ?? status.network ?? '')],
    ['Mode', settings.Mode && printable(modeLabel(settings.Mode, english))],
    ['Protocol', tunnel.protocol ?? protocolOf(snapshot)],
    ['Endpoint', tunnel.endpoints.join(', ')],
    ['Local proxy', tunnel.proxyPort === null ? null : `127.0.0.1:${tunnel.proxyPort}`],
    ['Data center', tunnel.colo && placeDetail(tunnel.colo)],
    ['Latency', latencyMs === null ? null : formatLatency(latencyMs, english)],
    ['Packet loss', loss === null ? null : formatLoss(loss, english)],
    [
      'Last handshake',
      tunnel.handshakeAgeSeconds === null ? null : formatDuration(tunnel.handshakeAgeSeconds, english),
    ],
    ['Sent', tunnel.bytesSent === null ? null : formatBytes(tunnel.bytesSent, english)],
    ['Received', tunnel.bytesReceived === null ? null : formatBytes(tunnel.bytesReceived, english)],
    ['Routes', splitTunnel.mode && routesText(routes, splitTunnel.mode)],
    [
      'Account',
      account.registered === false ? 'not registered' : [account.type, account.organization].filter(Boolean).join(', '),
    ],
    [
      'Tunnel CLI',
      tunnelCli.emulated ? 'embedded emulator' : [tunnelCli.path, tunnelCli.version].filter(Boolean).join(', '),
    ],
  ];
  if (unrecorded !== undefined) rows.push(['History', printable(`not recorded: ${unrecorded}`)]);
  const remote = describeRemoteAccess(remoteAccess, english);
  if (remote) rows.push(['Remote access', remote.detail || 'on']);
  for (const { name, value } of [...(status.unknown ?? []), ...(snapshot.options.unknown ?? [])])
    rows.push(['Not known to Culvert', printable(`${name}: ${value}`)]);
  const facts = rows.filter((row): row is [string, string] => Boolean(row[1]));
  return columns(
    facts.map(([label, value]) => ['', label, value]),
    (text, column) => (column === 1 ? style.dim(text) : text),
    width,
  );
}

function routesText(count: number, mode: 'exclude' | 'include'): string {
  if (mode === 'include') return count === 1 ? 'only 1 entry uses WARP' : `only ${count} entries use WARP`;
  return count === 1 ? '1 entry bypasses WARP' : `${count} entries bypass WARP`;
}

function now(): string {
  return clock(new Date().toISOString());
}

/** @param taken columns in use before the text @param now in ms since the epoch */
export function statusText(
  { style, width }: Pick<Context, 'style' | 'width'>,
  shown: Snapshot,
  taken = 0,
  now = Date.now(),
): string {
  return folded(statusParts(shown, style, now), separator(style), width - taken).replaceAll(
    '\n',
    `\n${' '.repeat(taken)}`,
  );
}

/** Time without an answer after which the bar shows an unknown state. */
const FIRST_LINE_MS = 1_000;

/**
 * Minimum time between lines; then the newest state is printed. Waybar 0.9 reads each line into a string that another
 * thread draws, so it loses lines in quick succession, with a "Syntax error" in its log.
 */
const BETWEEN_LINES_MS = 100;

/** Prints the line for a status bar; without a daemon, the state is unknown. */
async function showBar(context: Context, { format: name, watch, json }: Options): Promise<number> {
  const format = BAR_FORMATS.find(each => each === name);
  if (!format) throw usage(`There is no format ${String(name)}.`, `There are: ${BAR_FORMATS.join(', ')}`);
  if (json) throw usage("--json and --format can't be used together.");
  const put = writer(context, format);
  if (!watch) {
    const snapshot = await orNull(context.client.call('GET /api/snapshot'));
    put(barLine(shownState(snapshot), format, false, english));
    return EXIT.ok;
  }
  for (const line of barStart(format)) put(line);
  let shown: Snapshot | null = null;
  let printed = '';
  let rest: NodeJS.Timeout | null = null;
  const show = () => {
    long.follow(shown?.status ?? null);
    const line = barLine(shownState(shown), format, true, english);
    if (rest || line === printed) return;
    put(line);
    printed = line;
    rest = setTimeout(() => {
      rest = null;
      show();
    }, BETWEEN_LINES_MS);
  };
  const long = createLongTimer(show);
  const late = setTimeout(show, FIRST_LINE_MS);
  for await (const followed of follow(context.client, context.signal, { isWhole: true, isPatient: true })) {
    clearTimeout(late);
    // never shows an outdated state
    if (followed.kind === 'lost') shown = null;
    else if (followed.kind === 'event') shown = applyEvent(shown, followed.event);
    if (followed.kind !== 'back') show();
  }
  clearTimeout(late);
  if (rest) clearTimeout(rest);
  long.stop();
  return EXIT.ok;
}

function writer({ env, print, printDocument }: Context, format: BarFormat): (line: string) => void {
  if (format === 'polybar' || format === 'plain') return print;
  // lookalike characters may be quotes, which would break JSON
  return line => printDocument(isAsciiLocale(env) ? asciiJson(line) : line);
}
