// Builds the page of checks: a verdict, a line for each problem, and everything else folded.
import type { CheckResult, Fix, Undoable, Verdict } from '../../api/doctor.ts';
import { adminLines, adminUndoLines, fixText, repairWords } from '../fix.ts';
import {
  type ClientTask,
  type Command,
  clientCommand,
  type Form,
  type Mark,
  type MenuButton,
  type Question,
  type Row,
  type Status,
  type Tone,
  workCommand,
} from '../form.ts';
import { formatCount } from '../format.ts';
import {
  type ChecksState,
  labelOf,
  needsAdministrator,
  type Repair,
  translated,
  WORST_FIRST,
} from '../states/findings.ts';
import { leaveDemo } from '../states/killswitch.ts';
import { fill, type Translator } from '../translator.ts';

const LOOKS: Record<Verdict, { tone: Tone; mark: Mark }> = {
  ok: { tone: 'success', mark: 'fine' },
  notice: { tone: 'warning', mark: 'hint' },
  problem: { tone: 'error', mark: 'problem' },
  unknown: { tone: 'warning', mark: 'hint' },
  'not-applicable': { tone: 'neutral', mark: 'off' },
};

export type ServiceTask = Extract<ClientTask, 'start-service' | 'restart-service'>;

interface ChecksClient {
  /** True without a daemon, which applies fixes. The page then shows terminal commands. */
  offline: boolean;
  /** True for an emulated tunnel, which the page reports with a way out of the demo. */
  demo: boolean;
  /** Repairs that need root; absent in a browser. Each asks for a password, and runs the checks again. */
  repair?: RepairWays;
}

interface RepairWays {
  service(task: ServiceTask): Promise<unknown>;
  /** Runs `culvert-repair` with arguments; null if it can't be started. */
  root: ((argv: readonly string[]) => Promise<unknown>) | null;
}

interface Able extends ChecksClient {
  /** False while checks run. */
  sensitive: boolean;
}

export function checksForm(state: ChecksState, client: ChecksClient, tr: Translator): Form {
  const able: Able = { ...client, sensitive: state.running === null };
  const results = state.results
    .filter(({ id }) => !client.demo || id !== 'tunnel-cli')
    .map(result => translated(result, tr));
  const open = results
    .filter(({ verdict }) => verdict !== 'ok' && verdict !== 'not-applicable')
    .sort((a, b) => WORST_FIRST.indexOf(a.verdict) - WORST_FIRST.indexOf(b.verdict));
  const fine = results.filter(({ verdict }) => verdict === 'ok');
  const found: Found = { open, hasFine: fine.length > 0, demo: client.demo };
  const status = statusOf(state, found, tr);
  const groups: [id: string, rows: Row[]][] = [
    ['demo', client.demo && status.title !== demoTitle(tr) ? [demoRow(tr)] : []],
    ['found', open.map(result => findingRow(result, able, tr))],
    ['undo', state.undo && !client.offline ? [undoRow(state.undo, able, tr)] : []],
    ['fine', fine.length ? [fineRow(fine, tr)] : []],
  ];
  return {
    status,
    groups: groups.flatMap(([id, rows]) => (rows.length ? [{ id, rows }] : [])),
  };
}

interface Found {
  /** Findings, the worst first. */
  open: readonly CheckResult[];
  /** True if a check ran without a finding. */
  hasFine: boolean;
  demo: boolean;
}

function statusOf(state: ChecksState, found: Found, tr: Translator): Status {
  const { _ } = tr;
  const { running, results } = state;
  const run = results.length ? _('Run Again') : _('Run Checks');
  const verdict = verdictOf(state, found, tr);
  return {
    ...verdict,
    // Translators: the first %d is a number of checks, the second how many there are
    line: running?.total
      ? fill(_('%d of %d checks done'), formatCount(running.completed, tr), formatCount(running.total, tr))
      : null,
    buttons: [
      {
        label: run,
        ...(results.length ? {} : { style: 'suggested' as const }),
        sensitive: !running,
        command: clientCommand('run-checks'),
      },
      ...(verdict.title === demoTitle(tr) ? [leaveDemo(tr)] : []),
    ],
    menu: [{ label: _('Report a Problem…'), command: clientCommand('report') }],
  };
}

function verdictOf({ running, results, failed }: ChecksState, { open, hasFine, demo }: Found, tr: Translator) {
  const { _, ngettext } = tr;
  const verdict = (name: Mark | null, tone: Tone, title: string, sentence: string | null = null) => ({
    icon: name ? `culvert-mark-${name}-symbolic` : 'culvert-checks-symbolic',
    tone,
    title,
    sentence,
  });
  if (running) return verdict('waiting', 'accent', _('Checking…'));
  if (failed !== null) return verdict('problem', 'error', _('The checks could not run'), failed);
  const about = _('Checks service, DNS, network and desktop. Nothing leaves this computer.');
  if (!results.length) return verdict(null, 'neutral', _('Not checked yet'), about);
  const [worst] = open;
  if (!worst && demo) return verdict('hint', 'neutral', demoTitle(tr));
  if (!worst && !hasFine) return verdict(null, 'neutral', _('No check applies here'));
  if (!worst) return verdict('fine', 'success', _('Everything is fine'), about);
  const title = fill(
    ngettext('%d thing to look at', '%d things to look at', open.length),
    formatCount(open.length, tr),
  );
  const { mark, tone } = LOOKS[worst.verdict];
  return verdict(mark, tone, title);
}

const demoTitle = ({ _ }: Translator) => _('Demo · Nothing is tunneled.');

function demoRow(tr: Translator): Row {
  const { label, command } = leaveDemo(tr);
  return { kind: 'button', id: 'demo', title: demoTitle(tr), mark: 'hint', label, command };
}

function undoRow(undo: Undoable, { sensitive, repair }: Able, tr: Translator): Row {
  const { _ } = tr;
  const root = undo.administrator ? repair?.root : undefined;
  if (undo.administrator && !root)
    return { kind: 'shell', id: 'undo', title: _('Undo last fix'), shell: 'culvert doctor undo' };
  return {
    kind: 'button',
    id: 'undo',
    title: _('Undo last fix'),
    subtitle: labelOf(undo, tr),
    label: _('Undo'),
    sensitive,
    reason: tr._('The checks are running.'),
    command: root ? workCommand(() => root(['undo'])) : { ask: { kind: 'undo-fix' } },
  };
}

/** Folds the checks without a finding into one row. */
function fineRow(fine: readonly CheckResult[], tr: Translator): Row {
  const { length } = fine;
  return {
    kind: 'expander',
    id: 'fine',
    title: fill(tr.ngettext('%d check is fine', '%d checks are fine', length), formatCount(length, tr)),
    ...LOOKS.ok,
    rows: fine.map(
      (result): Row => ({
        kind: 'note',
        id: `seen-${result.id}`,
        title: result.title,
        ...linesOf(result, tr),
        ...LOOKS.ok,
      }),
    ),
  };
}

/** Returns the evidence as a subtitle whose lines begin with a capital, followed by further lines. */
function linesOf({ evidence, wording }: CheckResult, { locale }: Translator, ...further: string[]) {
  const lines = evidence.flatMap((text, i) => {
    const { text: template = text, language } = wording?.evidence[i] ?? {};
    return capitalized(text, template, language ?? locale)
      .split('\n')
      .map(line => ({ line, isEnglish: language === 'en' }));
  });
  const englishLines = lines.flatMap(({ isEnglish }, at) => (isEnglish ? [at] : []));
  const subtitle = [...lines.map(({ line }) => line), ...further].join('\n') || null;
  return { subtitle, ...(englishLines.length ? { englishLines } : {}) };
}

/** Programs whose names begin with a small letter. */
const PROGRAMS = /^(?:apt|busctl|dnsmasq|gjs|nft|systemd)\b/;

/** @param template English text of the message, which begins with a word, a value or the name of a program */
function capitalized(text: string, template: string, language: string | undefined): string {
  if (!/^[a-z]+[ :]/.test(template) || PROGRAMS.test(template)) return text;
  return text.charAt(0).toLocaleUpperCase(language) + text.slice(1);
}

/** Splits a text after its first sentence. A period after a number or a single letter ends no sentence. */
function firstSentence(text: string): [first: string, rest: string] {
  const end = /(?<=[\p{L}\p{M}”»")]{2})[.!?؟]\s|[。！？]/u.exec(text);
  if (!end) return [text, ''];
  const at = end.index + end[0].trimEnd().length;
  return [text.slice(0, at), text.slice(at).trim()];
}

/** Returns the line of a finding, which unfolds the reason, the change, and the way by hand. */
function findingRow(result: CheckResult, able: Able, tr: Translator): Row {
  const { _ } = tr;
  const { id, title, verdict, explanation, fix, fixId, source } = result;
  const [first, rest] = firstSentence(explanation ?? '');
  const found = linesOf(result, tr, ...(rest ? [rest] : []));
  const repair = fix && { id, fixId, fix };
  const rows: Row[] = [
    ...(first && found.subtitle
      ? [{ kind: 'note', id: `seen-${id}`, title: _('What was found'), ...found } as const]
      : []),
    ...(repair ? changeRows(repair, tr) : []),
    ...(source ? [sourceRow(id, source, tr)] : []),
  ];
  const line = first ? { title: first, subtitle: title } : { title, ...found };
  const button = repair && fixButton(repair, { sentence: first || title, explanation }, able, tr);
  const shared = { id: `check-${id}`, ...line, ...LOOKS[verdict] };
  if (!rows.length && !button) return { kind: 'note', ...shared };
  return { kind: 'expander', ...shared, rows, ...(button ? { button } : {}) };
}

function sourceRow(id: string, uri: string, { _ }: Translator): Row {
  return {
    kind: 'button',
    id: `source-${id}`,
    title: _('More about this'),
    label: _('Learn More'),
    command: { ask: { kind: 'open', uri } },
  };
}

/** Returns the client's repair of a finding, or null if a person must run the commands. */
function wayOf(fix: Fix, repair: RepairWays | undefined): (() => Promise<unknown>) | null {
  const words = repairWords(fix);
  const root = repair?.root;
  if (words && root) return () => root(['fix', ...words]);
  const task = serviceTask(fix);
  return repair && task ? () => repair.service(task) : null;
}

/** Returns the task for a repair that only starts or restarts WARP's unit, or null. */
function serviceTask(fix: Fix): ServiceTask | null {
  if (fix.kind !== 'commands' || fix.commands.length !== 1) return null;
  const command = fix.commands[0]!.join(' ');
  if (command === 'systemctl enable --now warp-svc') return 'start-service';
  return command === 'systemctl restart warp-svc' ? 'restart-service' : null;
}

/** Returns the terminal commands that make the change. */
function shellOf({ id, fix }: Repair): string {
  if (needsAdministrator(fix)) return adminLines(fix).join('\n');
  return fix.kind === 'file' ? `culvert doctor fix ${id}` : fixText(fix);
}

/** Returns the button of a fix, which shows the change before the user agrees. Without a way to apply it, it copies commands. */
function fixButton(
  repair: Repair,
  { sentence, explanation }: { sentence: string; explanation: string | null },
  { offline, repair: ways, sensitive }: Able,
  { _ }: Translator,
): MenuButton {
  const { id, fixId, fix } = repair;
  if (fix.kind === 'open') return { label: fix.label, command: { ask: { kind: 'open', uri: fix.url } } };
  const confirm = (body: string, more: Partial<Question> = {}): Question => ({
    heading: fix.label,
    body: [explanation, body].filter(Boolean).join('\n'),
    text: fixText(fix),
    accept: _('Apply'),
    ...more,
  });
  const command = (): Command => {
    const way = needsAdministrator(fix) ? wayOf(fix, ways) : null;
    if (way) return workCommand(way, { confirm: confirm(_('You may be asked for an administrator’s password.')) });
    if (!needsAdministrator(fix) && !offline && fixId !== null)
      return {
        ask: { kind: 'fix', request: { id, fixId } },
        confirm: confirm(''),
        undo: { kind: 'undo-fix' },
        done: _('Applied'),
      };
    const shell = !needsAdministrator(fix) && fixId !== null ? `culvert doctor fix ${id}` : shellOf(repair);
    const text = fix.kind === 'file' || shell !== shellOf(repair) ? `${fixText(fix)}\n\n${shell}` : shell;
    return {
      ask: { kind: 'copy', text: shell },
      confirm: confirm(_('Run the commands in a terminal.'), { text, accept: _('Copy') }),
      done: _('Copied. Paste it into a terminal.'),
    };
  };
  return {
    label: _('Fix…'),
    // Translators: %s is a sentence about a problem
    name: fill(_('Fix: %s'), sentence),
    sensitive,
    command: command(),
  };
}

/** Returns the change of a file, and the commands that make and undo a change by hand. */
function changeRows(repair: Repair, { _ }: Translator): Row[] {
  const { id, fix } = repair;
  if (fix.kind === 'open') return [];
  const undo = needsAdministrator(fix) ? adminUndoLines(fix).join('\n') : '';
  return [
    ...(fix.kind === 'file'
      ? [{ kind: 'text', id: `change-${id}`, title: fix.label, text: fixText(fix) } as const]
      : []),
    { kind: 'shell', id: `hand-${id}`, title: _('By hand'), shell: shellOf(repair) },
    ...(undo ? [{ kind: 'shell', id: `back-${id}`, title: _('To undo it:'), shell: undo } as const] : []),
  ];
}
