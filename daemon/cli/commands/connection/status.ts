// `culvert status`: one line, the details, a test for scripts, or a line for each change.
import { applyEvent } from '../../../api/apply-event.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { protocolOf, statusJson, statusWarning, unavailableLine } from '../../../state/status-line.ts';
import { printable } from '../../../system/printable.ts';
import { clock, dateTime } from '../../../system/terminal.ts';
import { createLongTimer } from '../../../view/client/client-state.ts';
import { modeLabel } from '../../../view/client/labels.ts';
import { formatBytes, formatDuration, formatLatency, formatLoss } from '../../../view/format.ts';
import { placeDetail } from '../../../view/places.ts';
import { explainedCause } from '../../../view/states/causes/diagnosis.ts';
import { describeRemoteAccess } from '../../../view/states/remote-access.ts';
import { figuresOf } from '../../../view/states/words.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT } from '../../errors.ts';
import { follow } from '../../follow.ts';
import { columns } from '../../terminal/columns.ts';
import { statusText } from './status-text.ts';

export const status: Run = async (context, _, options) => {
  if (options.format !== undefined) return (await import('./bar.ts')).showBar(context, options);
  if (options.watch) return watch(context);
  const [snapshot, health] = await Promise.all([
    context.client.call('GET /api/snapshot', options.fresh ? { query: { fresh: '1' } } : {}),
    context.json && !options.long ? context.client.call('GET /api/health') : null,
  ]);
  const line = statusText(context, snapshot);
  if (options.long) show(context, snapshot, () => `${line}\n${details(context, snapshot)}`);
  else show(context, statusJson(snapshot, health?.port ?? null), () => line);
  // on stderr, so that the status stays one line
  const warning = statusWarning(snapshot);
  if (warning && !context.json) context.say(warning);
  return options.check && snapshot.status.state !== 'connected' ? EXIT.notConnected : EXIT.ok;
};

/** Prints a line whenever it would read differently; while the daemon is away, the state is unavailable, and JSON readers get `ok: false`. */
async function watch(context: Context): Promise<number> {
  let shown: Snapshot | null = null;
  let port: number | null = null;
  let printed = '';
  const timed = !context.json && context.stdout.isTTY;
  const put = (text: string) => {
    if (text !== printed) context.print(timed ? `${context.style.dim(now())}  ${text}` : text);
    printed = text;
  };
  const show = () => {
    if (!shown) return;
    long.follow(shown.status);
    const text = () => statusText(context, shown!, timed ? now().length + 2 : 0);
    put(context.json ? JSON.stringify(statusJson(shown, port)) : text());
  };
  const long = createLongTimer(show);
  for await (const followed of follow(context.client, context.signal, { isWhole: true })) {
    if (followed.kind === 'lost') {
      long.stop();
      // never the state before
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

function details({ style, width }: Context, snapshot: Snapshot): string {
  const { status, settings, tunnel, splitTunnel, account, tunnelCli, remoteAccess } = snapshot;
  const cause = explainedCause(snapshot, english);
  const routes = splitTunnel.ips.length + splitTunnel.hosts.length;
  const { latencyMs, loss } = figuresOf(snapshot);
  const rows: [string, string | null | undefined][] = [
    ['Since', dateTime(status.since)],
    ['Cause', cause && printable(`${cause.title}. ${cause.sentence}`)],
    ['Network', status.network],
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
  const remote = describeRemoteAccess(remoteAccess, english);
  if (remote) rows.push(['Remote access', remote.detail || 'on']);
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
