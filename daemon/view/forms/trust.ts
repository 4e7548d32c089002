// Describes the page of the organization's certificate, which shows the tools that trust it, and changes them.
import type { TrustCertificate, TrustReport, TrustTool, TrustVerdict } from '../../api/trust.ts';
import {
  type Command,
  type Form,
  type Group,
  goTo,
  type Mark,
  type Question,
  type Row,
  statusForm,
  type Tone,
  workCommand,
} from '../form.ts';
import { formatCount, formatDay } from '../format.ts';
import { wordMessage, wordMessages } from '../message.ts';
import { fill, type Translator } from '../translator.ts';

interface TrustState {
  /** null until the daemon has checked the tools. */
  report: TrustReport | null;
  running: boolean;
  /** Why the check failed; null if it did not. */
  failed: string | null;
}

/** Requests that the page sends. */
interface TrustTasks {
  check(): Promise<unknown>;
  /** @param tools ids of tools; all tools by default */
  apply(tools?: string[]): Promise<unknown>;
  undo(tools?: string[]): Promise<unknown>;
}

export function trustForm({ report, running, failed }: TrustState, tasks: TrustTasks, tr: Translator): Form {
  const { _ } = tr;
  if (report && failed === null && isEmpty(report)) return noCertificate(running, tasks, tr);
  const tools = report?.tools ?? [];
  const asking: Asking = { tasks, sensitive: !running, tr };
  const of = (...verdicts: TrustVerdict[]) => tools.filter(({ verdict }) => verdicts.includes(verdict));
  const group = (id: string, title: string, shown: readonly TrustTool[]): Group => ({
    id,
    title,
    rows: shown.flatMap(tool => toolRows(tool, asking)),
  });
  return {
    groups: [
      { id: 'check', rows: [checkRow({ running, failed }, asking), ...allRows(report, asking)] },
      {
        id: 'certificates',
        title: _('Certificates'),
        rows: [
          ...(report?.certificates ?? []).map(each => certificateRow(each, tr)),
          ...(report?.refused ?? []).map(({ path, wording }): Row => {
            const subtitle = wordMessage(wording, tr);
            return { kind: 'note', id: `refused-${path}`, title: _('Not used'), subtitle, tone: 'warning' };
          }),
        ],
      },
      group('attention', _('Needs attention'), of('trusts-too-much', 'does-not-trust')),
      group('fine', _('In order'), of('trusts')),
      group('others', _('Not known'), of('unknown', 'not-reached')),
    ],
  };
}

/** True without a certificate, and without a change by Culvert that could be undone. */
function isEmpty({ certificates, refused, removalDue, tools }: TrustReport): boolean {
  return !certificates.length && !refused.length && !removalDue && !tools.some(({ applied }) => applied);
}

function noCertificate(running: boolean, { check }: TrustTasks, { _ }: Translator): Form {
  return statusForm({
    icon: 'culvert-certificate-symbolic',
    tone: 'neutral',
    title: _('No organization certificate'),
    sentence: _('You need this only when a company inspects your traffic.'),
    buttons: [
      { label: _('Join an Organization…'), command: goTo('account') },
      { label: _('Check'), sensitive: !running, command: workCommand(check) },
    ],
  });
}

interface Asking {
  tasks: TrustTasks;
  sensitive: boolean;
  tr: Translator;
}

function checkRow({ running, failed }: Omit<TrustState, 'report'>, { tasks, tr }: Asking): Row {
  const { _ } = tr;
  return {
    kind: 'button',
    id: 'check',
    title: _('Tools that trust the certificate'),
    label: _('Check'),
    subtitle: failed ?? _('Tested on this computer; nothing is sent.'),
    tone: failed === null ? 'neutral' : 'error',
    sensitive: !running,
    busy: running,
    command: workCommand(tasks.check),
  };
}

/** Returns the buttons that apply to all tools. */
function allRows(report: TrustReport | null, { tasks, sensitive, tr }: Asking): Row[] {
  const { _, ngettext } = tr;
  const tools = report?.tools ?? [];
  const changeable = tools.filter(({ changes }) => changes.length > 0);
  const applied = tools.filter(each => each.applied);
  const rows: Row[] = [];
  if (changeable.length > 1)
    rows.push({
      kind: 'button',
      id: 'apply-all',
      title: fill(
        ngettext('Make %d tool trust it', 'Make %d tools trust it', changeable.length),
        formatCount(changeable.length, tr),
      ),
      label: _('Apply…'),
      style: 'suggested',
      sensitive,
      reason: _('The tools are being tried.'),
      command: workCommand(() => tasks.apply(), { confirm: applyQuestion(changeable, tr), done: _('Applied') }),
    });
  if (applied.length > 1 || report?.removalDue)
    rows.push({
      kind: 'button',
      id: 'undo-all',
      title: report?.removalDue
        ? _('Tools still trust a certificate that is no longer valid')
        : _('Changes by Culvert'),
      subtitle: _('Files will be as they were before.'),
      label: _('Undo All…'),
      tone: report?.removalDue ? 'error' : 'neutral',
      sensitive,
      reason: _('The tools are being tried.'),
      command: workCommand(() => tasks.undo(), {
        confirm: undoQuestion(_('Undo all changes?'), tr),
        done: _('Undone'),
      }),
    });
  return rows;
}

/** Returns what identifies a certificate, in English, for the page and the command line. */
export const certificateFacts = ({ fingerprint }: TrustCertificate): [label: string, value: string][] => [
  ['SHA-256', fingerprint],
];

function certificateRow(certificate: TrustCertificate, tr: Translator): Row {
  const { _ } = tr;
  const { fingerprint, name, until, state } = certificate;
  const states: Record<TrustCertificate['state'], [text: string, tone: Tone]> = {
    // Translators: %s is a date
    valid: [fill(_('Valid until %s'), formatDay(until.slice(0, 10), tr)), 'neutral'],
    'not-yet-valid': [_('Not yet valid'), 'warning'],
    // Translators: %s is a date
    expired: [fill(_('Expired on %s'), formatDay(until.slice(0, 10), tr)), 'error'],
    withdrawn: [_('Withdrawn'), 'error'],
  };
  const [text, tone] = states[state];
  const facts = certificateFacts({ ...certificate, fingerprint: fingerprint.replaceAll(':', ' ') });
  return {
    kind: 'note',
    id: `certificate-${fingerprint}`,
    title: name || _('No name'),
    subtitle: [text, ...facts.map(([label, value]) => `${label} ${value}`)].join('\n'),
    englishLines: facts.map((_fact, at) => at + 1),
    tone,
  };
}

function toolRows(tool: TrustTool, asking: Asking): Row[] {
  const { id, changes, applied, administrator, verdict, newSessions, wording } = tool;
  const { tasks, sensitive, tr } = asking;
  const { _ } = tr;
  const title = titleOf(tool, tr);
  const later = newSessions ? [_('It applies after the next login.')] : [];
  const subtitle = [wordMessages(wording, tr), ...later].filter(Boolean).join('\n') || null;
  const shared = { id: `tool-${id}`, title, subtitle, ...LOOKS[verdict] };
  const button = (label: string, command: Command): Row => {
    const reason = _('The tools are being tried.');
    return { kind: 'button', ...shared, label, sensitive, reason, command };
  };
  const apply = button(
    _('Apply…'),
    workCommand(() => tasks.apply([id]), { confirm: applyQuestion([tool], tr), done: _('Applied') }),
  );
  // Translators: %s is the name of a program
  const question = undoQuestion(fill(_('Undo the changes for %s?'), title), tr);
  const undo = button(
    _('Undo…'),
    workCommand(() => tasks.undo([id]), { confirm: question, done: _('Undone') }),
  );
  const seen: Row = { kind: 'note', ...shared };
  const commands: Row = {
    kind: 'shell',
    id: `admin-${id}`,
    title: _('As an administrator:'),
    shell: administrator.join('\n'),
    folded: _('Show commands'),
  };
  return [changes.length > 0 ? apply : applied ? undo : seen, ...(administrator.length > 0 ? [commands] : [])];
}

const LOOKS: Record<TrustVerdict, { tone: Tone; mark: Mark }> = {
  trusts: { tone: 'success', mark: 'fine' },
  'does-not-trust': { tone: 'warning', mark: 'hint' },
  'trusts-too-much': { tone: 'error', mark: 'problem' },
  'not-reached': { tone: 'neutral', mark: 'off' },
  unknown: { tone: 'neutral', mark: 'off' },
};

/** Returns the title of a tool, translated unless it is the name of a program. */
function titleOf({ title, program }: TrustTool, { _ }: Translator): string {
  return program === null ? _(title) : title;
}

/** Asks before changes are applied; shows each change of a file once. */
function applyQuestion(tools: readonly TrustTool[], { _ }: Translator): Question {
  const diffs = new Set(tools.flatMap(({ changes }) => changes.map(({ diff }) => diff.trimEnd())));
  return {
    heading: _('Make these changes?'),
    body: _('Only files of yours are changed, and Culvert can undo it.'),
    text: [...diffs].join('\n'),
    accept: _('Apply'),
  };
}

function undoQuestion(heading: string, { _ }: Translator): Question {
  return { heading, body: _('Files will be as they were before.'), accept: _('Undo') };
}
