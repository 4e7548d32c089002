// Defines the first page: the state in one skeleton, the figures, mode, kill switch and pause, the tunnel's details, and the
// credits of command-line tools, which it reads. It is not in `all.ts`, because clients load it before the other pages.
import type { Tool } from '../../api/accounts.ts';
import type { Snapshot } from '../../api/schema.ts';
import { current } from '../client/client-state.ts';
import { actionCommand, type Button, type Form, type MenuButton, type Row, type Status } from '../form.ts';
import { formatBytes, formatDate, formatDuration, formatLatency, formatLoss, secondsUntil } from '../format.ts';
import { setupForm } from '../forms/setup.ts';
import { leftText, levelOf, totalOf, unknownText, withoutOld } from '../forms/tool-credits.ts';
import { modeLink } from '../forms/tunnel/choose-mode.ts';
import { NOW, rangeOf, type Sample } from '../graph.ts';
import { placeDetail, placeName } from '../places.ts';
import { usesHttp2 } from '../states/http2.ts';
import { killSwitchSummary, pauseName } from '../states/killswitch.ts';
import { describeProof, type ProofView } from '../states/proof.ts';
import { isOld } from '../states/summary.ts';
import { type Countdown, describeCountdown, offCommands, timedRows, timeLeftText } from '../states/timed.ts';
import { durationText, type TunnelView } from '../states/tunnel.ts';
import { figuresOf } from '../states/words.ts';
import { fill, type Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { type Page, reading } from './page.ts';

/** Facts that the page shows in addition to the state. */
export interface ConnectionFacts {
  /** In ms since the epoch. */
  now: number;
  /** Statistics of the last minutes of this connection. */
  figures: readonly Sample[];
  /** Command-line tools that may have accounts; empty before they are read. */
  tools: readonly Tool[];
}

/** Time between reads of the credits. Events report changes only for the first minutes after a read. */
const READ_CREDITS_MS = 300_000;

export const connectionPage: Page = (host, changed) => {
  const { model } = host;
  // the credits must not delay the first form
  let isShown = false;
  const accounts = reading(host, changed, {
    read: () => model.call('GET /api/accounts'),
    everyMs: READ_CREDITS_MS,
    when: ({ client }) => isShown && client.offline === null && client.snapshot?.toolAccounts.offered === true,
    from: ({ event, data }) => (event === 'accounts' ? data : undefined),
  });
  return {
    ticks: true,
    form(view) {
      const { value } = accounts.now(view);
      // without a daemon, nothing says how much is left now
      const tools = (current(view.client)?.toolAccounts.offered && value?.tools) || [];
      const facts = { now: host.now(), figures: host.figures(), tools };
      return connectionForm(view, facts, host.tr());
    },
    shown() {
      if (isShown) accounts.shown();
      else {
        isShown = true;
        changed();
      }
    },
    close: accounts.close,
  };
};

/** In place of a value that is not known. */
const UNKNOWN = '–';
/** Maximum number of buttons below the state. The menu has the others. */
const BUTTONS = 2;

export function connectionForm(view: View, facts: ConnectionFacts, tr: Translator): Form {
  const { client, tunnel, killSwitch } = view;
  if (tunnel.setup) return setupForm(view, tr);
  return {
    status: statusOf(view, facts.now, tr),
    groups: [
      { id: 'timed', rows: timedRows(client, tr) },
      {
        id: 'main',
        rows: [
          figuresRow(view, facts.figures, tr),
          modeLink(tunnel, tr),
          killSwitchSummary(killSwitch, tr),
          pauseRow(tunnel, tr),
          ...creditsRows(facts, tr),
        ],
      },
      { id: 'details', rows: detailsRows(view, tr) },
    ],
  };
}

function statusOf({ client, tunnel, unconfirmed }: View, now: number, tr: Translator): Status {
  const countdown = describeCountdown(client, tr);
  const proof = describeProof(client, now, tr);
  const span = countdown?.span ?? unconfirmed;
  const buttons = buttonsOf(client.pending === null, tunnel, countdown, tr);
  const [sentence = '', ...notes] = tunnel.sentence.split('\n');
  // the demo never checks real traffic
  const check: MenuButton[] =
    proof && !tunnel.emulated
      ? [{ label: proof.button.name, command: proof.button.command, sensitive: proof.button.sensitive }]
      : [];
  return {
    icon: tunnel.icon,
    // a request that bypassed WARP contradicts a connection
    tone: proof?.tone === 'warning' && tunnel.tone === 'success' ? 'warning' : tunnel.tone,
    title: tunnel.label,
    sentence,
    line: lineOf(client.snapshot, { tunnel, countdown, proof, now, notes }, tr),
    buttons: buttons.slice(0, BUTTONS),
    menu: [...buttons.slice(BUTTONS), ...check],
    span: span && { from: span.from, until: span.until },
    waiting: tunnel.waiting,
    details: tunnel.details,
  };
}

/** Returns the buttons of the state, the most important first. @param free false while an action is under way */
function buttonsOf(free: boolean, tunnel: TunnelView, countdown: Countdown | null, tr: Translator): MenuButton[] {
  const { other, state, look, toggle } = tunnel;
  const { ask = null } = tunnel.remedy?.command ?? {};
  // the main button does the same
  const isSame = ask?.kind === 'action' && ask.request.action === toggle.action;
  const remedy = isSame ? null : tunnel.remedy;
  const plain = (button: Button | null): MenuButton[] => (button ? [{ ...button, sensitive: free }] : []);
  const first: MenuButton[] = plain(remedy).map(button => ({ ...button, style: 'suggested' }));
  const main = mainButtons({ ...tunnel, remedy }, tr);
  if (look === 'unavailable') return first.length ? first : main;
  const timed = countdownButtons(free, countdown);
  // stopping the attempts helps least against a block
  if (state === 'blocked')
    return first.length ? [...first, ...plain(other), ...main, ...timed] : [...main, ...plain(other), ...timed];
  return [...first, ...main, ...timed, ...plain(other)];
}

/** Returns the button that connects or disconnects; both if the state is unknown. */
function mainButtons({ toggle, remedy, look, settable, lock }: TunnelView, { _ }: Translator): MenuButton[] {
  if (look === 'unknown' && settable)
    return [
      { label: _('Connect'), command: actionCommand({ action: 'connect' }) },
      { label: _('Disconnect'), command: actionCommand({ action: 'disconnect' }) },
    ];
  const button: MenuButton = {
    label: toggle.label,
    command: actionCommand({ action: toggle.action ?? 'connect' }),
    sensitive: toggle.sensitive && toggle.action !== null,
    reason: toggle.locked ? lock : null,
  };
  return [toggle.on || remedy ? button : { ...button, style: 'suggested' }];
}

/** Returns the buttons that end and extend the state of the countdown; the main button ends a pause. */
function countdownButtons(free: boolean, countdown: Countdown | null): MenuButton[] {
  if (!countdown) return [];
  const { end, extend, pause, text } = countdown;
  const named = (button: Button): MenuButton => ({ ...button, name: `${button.label}: ${text}`, sensitive: free });
  return [...(pause ? [] : [named(end)]), ...(extend ? [named(extend)] : [])];
}

interface Lines {
  tunnel: TunnelView;
  countdown: Countdown | null;
  proof: ProofView | null;
  now: number;
  /** Further facts of the state, after its sentence. */
  notes: readonly string[];
}

/** Words the notes and the time left of a countdown, or the duration and the place of the state; then the result of a proof. */
function lineOf(snapshot: Snapshot | null, lines: Lines, tr: Translator): string | null {
  const { countdown, proof, notes } = lines;
  const isAsking = proof?.button.sensitive === false;
  const proven = isAsking ? proof.button.label : (proof?.text ?? null);
  const parts = countdown ? countdownWords(countdown, lines, tr) : sinceWords(snapshot, lines, tr);
  return [...notes, ...parts, proven].filter(Boolean).join(' · ') || null;
}

/** Words what ends and the time left: both or neither, because a time alone would belong to the fact before it. */
function countdownWords({ isSaid, text, span }: Countdown, { notes, now }: Lines, tr: Translator): string[] {
  const left = timeLeftText(span, now, tr);
  if (isSaid) return [left];
  // both would take two lines
  return notes.length > 0 ? [] : [text, left];
}

function sinceWords(
  snapshot: Snapshot | null,
  { tunnel, proof, now, notes }: Omit<Lines, 'countdown'>,
  tr: Translator,
): (string | null)[] {
  // both would take two lines
  if (notes.length > 0) return [];
  if (!snapshot || tunnel.look === 'unavailable' || isOld(snapshot.status)) return [];
  const text = durationText(tunnel, snapshot.status.since, now, tr);
  // a proof that succeeded names the place itself
  const code = tunnel.live && proof?.tone !== 'success' ? snapshot.tunnel.colo : null;
  return text === null ? [] : [text, code && placeName(code)];
}

function figuresRow({ client, tunnel }: View, samples: readonly Sample[], tr: Translator): Row {
  const { _ } = tr;
  const snapshot = tunnel.live ? current(client) : null;
  const { latencyMs, loss } = snapshot ? figuresOf(snapshot) : { latencyMs: null, loss: null };
  const { bytesReceived = null, bytesSent = null } = snapshot?.tunnel ?? {};
  const data = bytesReceived === null || bytesSent === null ? null : bytesReceived + bytesSent;
  const curve = latencyMs === null ? [] : samples.map(each => each.latencyMs);
  const range = rangeOf(curve);
  const [least = '', greatest = '', mean = ''] = range
    ? [range.least, range.greatest, range.mean].map(ms => formatLatency(ms, tr))
    : [];
  return {
    kind: 'figures',
    id: 'figures',
    title: _('Open the history'),
    subtitle: range
      ? // Translators: for screen readers; each %s is a latency such as 12 ms
        fill(_('Latency over time: from %s to %s, %s on average'), least, greatest, mean)
      : _('No statistics yet.'),
    figures: [
      { title: _('Latency'), value: latencyMs === null ? UNKNOWN : formatLatency(latencyMs, tr) },
      { title: _('Packet loss'), value: loss === null ? UNKNOWN : formatLoss(loss, tr) },
      { title: _('Data'), value: data === null ? UNKNOWN : formatBytes(data, tr) },
    ],
    curve,
    page: 'history',
    row: NOW,
  };
}

/** Returns the row that pauses the tunnel: its button for the last length, its menu for the others. */
function pauseRow({ toggle, settable, lock, pauses, sentence }: TunnelView, tr: Translator): Row {
  const { _ } = tr;
  const isOn = toggle.action === 'disconnect';
  const [first, ...others] = offCommands(pauses, tr);
  return {
    kind: 'button',
    id: 'pause',
    title: _('Pause WARP'),
    label: pauseName(first!.minutes, tr),
    sensitive: isOn && settable && toggle.sensitive,
    reason: toggle.action === null ? sentence.split('\n')[0] : isOn ? lock : _('There is no connection to pause.'),
    command: first!.command,
    menu: [...others.map(({ title, command }) => ({ label: title, command })), untilButton(tr)],
  };
}

function untilButton({ _ }: Translator): MenuButton {
  const check = (text: string) =>
    text === '' || secondsUntil(text, new Date()) !== null ? null : _('Enter a time of day such as 18:00');
  return {
    // Translators: the tunnel is paused until a time of day, which the user enters
    label: _('Until…'),
    command: {
      ask: {
        kind: 'answer',
        command: text => actionCommand({ action: 'disconnect', forSeconds: secondsUntil(text, new Date()) ?? 1 }),
      },
      confirm: {
        heading: _('Pause WARP'),
        body: _('WARP connects again at this time.'),
        accept: _('Pause'),
        field: { label: _('Until (time)'), placeholder: '18:00', check },
      },
    },
  };
}

/** Returns the row with what is left of the tools' quotas; empty without an account. */
function creditsRows({ tools, now }: Pick<ConnectionFacts, 'tools' | 'now'>, tr: Translator): Row[] {
  const used = tools.filter(({ accounts }) => accounts.length > 0);
  const left = (tool: Tool) => leftText(totalOf(tool, now), tr);
  // a sum without figures needs no count of the accounts that are missing in it
  const unknown = (tool: Tool) =>
    left(tool) === null
      ? null
      : unknownText(
          tool.accounts.map(account => withoutOld(account, now)),
          tr,
        );
  const [only, ...others] = used;
  if (!only) return [];
  const row = { kind: 'link', id: 'credits', title: tr._('Credits'), page: 'tools' } as const;
  const lineOf = (tool: Tool) => {
    const credits = [left(tool) ?? tr._('Credits unknown'), unknown(tool)].filter(Boolean).join(' · ');
    // Translators: a command such as firecrawl, then what is left of its credits
    return fill(tr._('%s: %s'), tool.cli, credits);
  };
  // the tools count in different units
  if (others.length) return [{ ...row, subtitle: used.map(lineOf).join('\n') }];
  const total = totalOf(only, now);
  return [
    {
      ...row,
      subtitle: [only.cli, unknown(only)].filter(Boolean).join(' · '),
      value: left(only) ?? UNKNOWN,
      level: levelOf(total),
      tone: total.remaining === 0 ? 'warning' : 'neutral',
    },
  ];
}

function detailsRows({ client, tunnel, proxy }: View, tr: Translator): Row[] {
  const { _ } = tr;
  const snapshot = current(client);
  if (!snapshot) return [];
  const fact = (id: string, title: string, value: string | null, copy = false): Row[] =>
    value ? [{ kind: 'fact', id, title, value, copy }] : [];
  const rows = [
    ...(tunnel.live ? tunnelFacts(snapshot, tunnel, fact, tr) : []),
    ...fact('proxy', _('Proxy for other apps'), proxy.address, true),
    ...fact('plan', _('Plan'), snapshot.account.type),
    ...fact('warp', _('WARP version'), snapshot.tunnelCli.version),
  ];
  return rows.length ? [{ kind: 'expander', id: 'connection-details', title: _('Connection details'), rows }] : [];
}

function protocolText(snapshot: Snapshot, protocol: TunnelView['protocol'], { _ }: Translator): string | null {
  // Translators: %s is MASQUE, the name of a protocol
  if (protocol === 'MASQUE' && usesHttp2(snapshot)) return fill(_('%s over HTTP/2 (TCP)'), protocol);
  return protocol ?? snapshot.tunnel.protocol;
}

function tunnelFacts(
  snapshot: Snapshot,
  { protocol }: TunnelView,
  fact: (id: string, title: string, value: string | null, copy?: boolean) => Row[],
  tr: Translator,
): Row[] {
  const { _ } = tr;
  const { tunnel, status } = snapshot;
  const { bytesReceived, bytesSent, handshakeAgeSeconds: handshake } = tunnel;
  const { latencyMs, loss } = figuresOf(snapshot);
  const servers = tunnel.endpoints.filter(address => !/^(::|0\.0\.0\.0)$/.test(address));
  return [
    ...fact('since', _('Connected since'), formatDate(status.since, tr)),
    ...fact('protocol', _('Protocol'), protocolText(snapshot, protocol, tr)),
    ...servers.flatMap((address, i) => fact(`endpoint-${i}`, _('Server'), address, true)),
    ...fact('colo', _('Data center'), tunnel.colo && placeDetail(tunnel.colo)),
    ...fact('latency', _('Latency'), latencyMs === null ? null : formatLatency(latencyMs, tr)),
    ...fact('loss', _('Packet loss'), loss === null ? null : formatLoss(loss, tr)),
    ...fact('received', _('Received'), bytesReceived === null ? null : formatBytes(bytesReceived, tr)),
    ...fact('sent', _('Sent'), bytesSent === null ? null : formatBytes(bytesSent, tr)),
    ...fact('handshake', _('Last handshake'), handshake === null ? null : formatDuration(handshake, tr)),
  ];
}
