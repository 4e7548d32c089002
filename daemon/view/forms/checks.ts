// Builds the page of checks, which lists results as they arrive, problems first, with their evidence and fixes.
import type { CheckResult, Fix, Undoable, Verdict } from '../../api/doctor.ts';
import { adminLines, adminUndoLines, fixText, repairWords } from '../fix.ts';
import { type ClientTask, clientCommand, type Form, type Group, type Row, type Tone, workCommand } from '../form.ts';
import { formatCount, formatList } from '../format.ts';
import {
  type ChecksState,
  labelOf,
  needsAdministrator,
  type Repair,
  translated,
  WORST_FIRST,
} from '../states/findings.ts';
import { fill, type Translator } from '../translator.ts';

const TONES: Record<Verdict, Tone> = {
  ok: 'success',
  notice: 'warning',
  problem: 'error',
  unknown: 'warning',
  'not-applicable': 'neutral',
};

export type ServiceTask = Extract<ClientTask, 'start-service' | 'restart-service'>;

interface ChecksClient {
  /** True without a daemon, which applies fixes. The page then shows terminal commands. */
  offline: boolean;
  /** Repairs that need root; absent in a browser. Each asks for a password, and runs the checks again. */
  repair?: RepairWays;
}

interface RepairWays {
  service(task: ServiceTask): Promise<unknown>;
  /** Runs `culvert-repair` with arguments; null if it can't be started. */
  root: ((argv: readonly string[]) => Promise<unknown>) | null;
}

export function checksForm(state: ChecksState, { offline, repair }: ChecksClient, tr: Translator): Form {
  const { _ } = tr;
  const results = state.results.map(result => translated(result, tr));
  const sorted = results.sort((a, b) => WORST_FIRST.indexOf(a.verdict) - WORST_FIRST.indexOf(b.verdict));
  const open = sorted.filter(({ verdict }) => verdict !== 'ok' && verdict !== 'not-applicable');
  const fine = sorted.filter(({ verdict }) => verdict === 'ok');
  const able = { offline, repair, sensitive: state.running === null };
  return {
    groups: [
      { id: 'run', rows: runRows(state, { offline, repair }, tr) },
      ...open.map(
        (result, i): Group => ({
          id: `check-${result.id}`,
          ...(i === 0 ? { title: _('Needs attention') } : {}),
          rows: openRows(result, able, tr),
        }),
      ),
      ...(fine.length ? [{ id: 'fine', title: _('In order'), rows: fine.map(result => seenRow(result)) }] : []),
    ],
  };
}

function runRows(
  { running, results, undo, failed }: ChecksState,
  { offline, repair }: ChecksClient,
  tr: Translator,
): Row[] {
  const { _ } = tr;
  const free = running === null;
  const idle = results.length
    ? summary(results, tr)
    : _('Checks service, DNS, network and desktop. Nothing leaves this computer.');
  return [
    {
      kind: 'button',
      id: 'run',
      title: _('Check this computer'),
      label: results.length ? _('Run Again') : _('Run'),
      // Translators: the first %d is a number of checks, the second how many there are
      subtitle: running
        ? fill(_('%d of %d checks done'), formatCount(running.completed, tr), formatCount(running.total, tr))
        : (failed ?? idle),
      sensitive: free,
      busy: !free,
      tone: failed ? 'error' : 'neutral',
      command: clientCommand('run-checks'),
    },
    ...(undo && !offline ? [undoRow(undo, { sensitive: free, repair }, tr)] : []),
    {
      kind: 'button',
      id: 'report',
      title: _('Report a problem'),
      label: _('Show Report…'),
      subtitle: _('One file for a bug report, without names, addresses and keys.'),
      command: clientCommand('report'),
    },
  ];
}

function undoRow(undo: Undoable, { sensitive, repair }: Pick<Able, 'sensitive' | 'repair'>, tr: Translator): Row {
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

/** Returns the numbers of problems, hints and incomplete checks as a text. */
function summary(results: readonly CheckResult[], tr: Translator): string {
  const { _, ngettext } = tr;
  const count = (verdict: Verdict) => results.filter(result => result.verdict === verdict).length;
  const [problems, unknown, notices] = [count('problem'), count('unknown'), count('notice')];
  const parts = [
    ...(problems ? [fill(ngettext('%d problem', '%d problems', problems), formatCount(problems, tr))] : []),
    ...(notices ? [fill(ngettext('%d hint', '%d hints', notices), formatCount(notices, tr))] : []),
    ...(unknown
      ? [
          fill(
            ngettext('%d check could not be completed', '%d checks could not be completed', unknown),
            formatCount(unknown, tr),
          ),
        ]
      : []),
  ];
  return parts.length ? formatList(parts, tr) : _('Everything is in order.');
}

function seenRow({ id, title, verdict, evidence, explanation, wording }: CheckResult): Row {
  const subtitle = [...evidence, ...(explanation && verdict !== 'ok' ? [explanation] : [])].join('\n');
  const english = evidence.flatMap((text, i) => text.split('\n').map(() => wording?.evidence[i]?.language === 'en'));
  const englishLines = english.flatMap((is, line) => (is ? [line] : []));
  const marked = englishLines.length ? { englishLines } : {};
  const done = verdict === 'ok' ? ({ done: true } as const) : {};
  return { kind: 'note', id: `seen-${id}`, title, subtitle, ...marked, ...done, tone: TONES[verdict] };
}

interface Able extends ChecksClient {
  sensitive: boolean;
}

function openRows(result: CheckResult, able: Able, tr: Translator): Row[] {
  const { id, fix, fixId, source } = result;
  return [
    seenRow(result),
    ...(fix ? fixRows({ id, fixId, fix }, able, tr) : []),
    ...(source ? [sourceRow(result, source, tr)] : []),
  ];
}

function sourceRow({ id, title }: CheckResult, uri: string, { _ }: Translator): Row {
  return {
    // Translators: %s is the title of a check
    kind: 'button',
    id: `source-${id}`,
    title: fill(_('More about: %s'), title),
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

function repairRow(
  id: string,
  title: string,
  { sensitive, work }: { sensitive: boolean; work: () => Promise<unknown> },
  { _ }: Translator,
): Row {
  return {
    kind: 'button',
    id: `repair-${id}`,
    title,
    label: _('Fix'),
    style: 'suggested',
    subtitle: _('You may be asked for an administrator’s password.'),
    sensitive,
    reason: _('The checks are running.'),
    command: workCommand(work),
  };
}

function fixRows({ id, fixId, fix }: Repair, { offline, repair, sensitive }: Able, tr: Translator): Row[] {
  const { _ } = tr;
  if (fix.kind === 'open')
    return [
      {
        kind: 'button',
        id: `fix-${id}`,
        title: fix.label,
        label: _('Open'),
        command: { ask: { kind: 'open', uri: fix.url } },
      },
    ];
  const change: Row = { kind: 'text', id: `change-${id}`, title: fix.label, text: fixText(fix) };
  if (needsAdministrator(fix)) {
    const undo = adminUndoLines(fix);
    const way = wayOf(fix, repair);
    const fold = (label: string) => (way ? { folded: label } : {});
    return [
      ...(fix.kind === 'file' ? [change] : []),
      ...(way ? [repairRow(id, fix.label, { sensitive, work: way }, tr)] : []),
      {
        kind: 'shell',
        id: `admin-${id}`,
        title: way ? fix.label : fix.kind === 'file' ? _('As an administrator:') : fix.label,
        shell: adminLines(fix).join('\n'),
        ...fold(_('Show commands')),
      },
      ...(undo.length
        ? [
            {
              kind: 'shell',
              id: `back-${id}`,
              title: way ? fix.label : _('To undo it:'),
              shell: undo.join('\n'),
              ...fold(_('Show commands to undo it')),
            } as const,
          ]
        : []),
    ];
  }
  if (offline || fixId === null)
    return [
      change,
      { kind: 'shell', id: `terminal-${id}`, title: _('In a terminal:'), shell: `culvert doctor fix ${id}` },
    ];
  return [
    fix.kind === 'file' ? change : { ...change, folded: _('Show commands') },
    {
      // Translators: %s is what a change does, such as “Use another mode”
      kind: 'button',
      id: `apply-${id}`,
      title: fill(_('Apply “%s”'), fix.label),
      label: _('Apply'),
      style: 'suggested',
      sensitive,
      reason: _('The checks are running.'),
      command: { ask: { kind: 'fix', request: { id, fixId } }, undo: { kind: 'undo-fix' }, done: _('Applied') },
    },
  ];
}
