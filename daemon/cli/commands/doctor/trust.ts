// Runs `culvert trust`, which shows the tools' trust in the organization's certificate, and changes it or undoes changes.
import {
  type TrustCertificate,
  TrustHost,
  type TrustOnline,
  type TrustReport,
  type TrustTool,
  type TrustVerdict,
} from '../../../api/trust.ts';
import { assertOwn } from '../../../core/files.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../../core/terminal.ts';
import { createTrust, type Trust } from '../../../trust/trust.ts';
import { certificateFacts } from '../../../view/forms/trust.ts';
import { isMember } from '../../../view/states/registration.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { consent, createProgress, readSecret } from '../../dialog.ts';
import { EXIT, Failure, orNull } from '../../errors.ts';
import { columns } from '../../layout.ts';
import { diffText } from './doctor.ts';

export const trust: Run = async (context, ids, options) => {
  const host = typeof options.online === 'string' ? hostOf(options.online) : undefined;
  const report = await examine(context, await open(context), { ids: wantedOf(ids), host });
  const isWrong = report.removalDue || report.tools.some(({ verdict }) => WRONG.includes(verdict));
  show(context, { ...report, ok: !isWrong }, () => describe(context, report));
  return isWrong ? EXIT.failure : EXIT.ok;
};

function hostOf(text: string): string {
  const { success, data } = TrustHost.safeParse(text);
  if (success) return data;
  throw new Failure(`"${printable(text)}" is not a host.`, {
    hint: 'Give a name and, if you like, a port: www.example.com:443',
  });
}

const wantedOf = (ids: readonly string[]) => (ids.length > 0 ? ids : undefined);

export const trustApply: Run = async (context, ids, options) => {
  const trust = await open(context);
  const wanted = wantedOf(ids);
  if (typeof options.certificate === 'string') await confirmCertificate(context, trust, options.certificate);
  const report = await examine(context, trust, { ids: wanted });
  const chosen = report.tools.filter(({ changes }) => changes.length > 0);
  return carryOut(context, options, {
    consequence: describeChanges(context, chosen),
    question: 'Make these changes?',
    isAsked: chosen.length > 0,
    act: () => trust.apply(wanted),
    after: 'Undo it with: culvert trust undo',
  });
};

export const trustUndo: Run = async (context, ids, options) => {
  const trust = await open(context);
  const wanted = wantedOf(ids);
  return carryOut(context, options, {
    consequence: `Undoes what was changed for ${wanted?.join(', ') ?? 'all tools'}.`,
    question: 'Undo it?',
    isAsked: true,
    act: () => trust.undo(wanted),
    after: null,
  });
};

/** Asks for the fingerprint that the organization gave the user; printing it here would prove nothing. */
async function confirmCertificate(context: Context, trust: Trust, file: string): Promise<void> {
  const fingerprint = await readSecret(context, 'SHA-256 fingerprint that your organization gave you');
  await trust.confirm(file, fingerprint);
}

const WRONG: readonly TrustVerdict[] = ['does-not-trust', 'trusts-too-much'];

async function open({ client, env, paths, signal }: Context): Promise<Trust> {
  if (env.HOME) assertOwn(env.HOME); // the tested tools write into it
  const snapshot = await orNull(client.call('GET /api/snapshot'));
  return createTrust({ env, paths, signal, isMember: snapshot && isMember(snapshot) });
}

interface Examined {
  ids: readonly string[] | undefined;
  host?: string | undefined;
}

async function examine(context: Context, trust: Trust, { ids, host }: Examined): Promise<TrustReport> {
  const progress = createProgress(context);
  try {
    progress.step('Testing each tool');
    return await trust.report(ids, host);
  } finally {
    progress.end();
  }
}

interface Change {
  consequence: string;
  question: string;
  /** False if the command can only fail. */
  isAsked: boolean;
  act(): Promise<string[]>;
  after: string | null;
}

async function carryOut(context: Context, options: Options, change: Change): Promise<number> {
  const { consequence, question, isAsked, act, after } = change;
  if (isAsked && options.yes === true) context.say(consequence);
  if (isAsked) await consent(context, options, { consequence, question });
  const done = await act();
  show(context, { done }, () => [...done.map(line => `✓ ${printable(line)}`), ...(after ? [after] : [])].join('\n'));
  return EXIT.ok;
}

function describeChanges({ style }: Context, tools: readonly TrustTool[]): string {
  const shared = new Map(tools.flatMap(({ title, changes }) => changes.map(each => [each.diff, { ...each, title }])));
  return [...shared.values()].map(({ title, diff }) => `${style.bold(title)}\n${diffText(diff, style)}`).join('\n');
}

const MARK: Record<TrustVerdict, [symbol: string, color: keyof Style, words: string]> = {
  trusts: ['✓', 'green', 'trusts it'],
  'does-not-trust': ['✗', 'red', 'does not trust it'],
  'trusts-too-much': ['!', 'yellow', 'trusts too much'],
  'not-reached': ['-', 'dim', 'not reached'],
  unknown: ['?', 'yellow', 'not known'],
};

const STATES: Record<TrustCertificate['state'], string> = {
  valid: 'valid',
  'not-yet-valid': 'not yet valid',
  expired: 'EXPIRED',
  withdrawn: 'WITHDRAWN',
};

function describe(
  { style, width }: Context,
  { certificates, refused, tools, removalDue, online }: TrustReport,
): string {
  // without a certificate, only tools that verify nothing matter
  const shown = certificates.length > 0 ? tools : tools.filter(({ verdict }) => verdict === 'trusts-too-much');
  const rows = shown.map(tool => {
    const [symbol, , words] = MARK[tool.verdict];
    const later = tool.newSessions ? ['It applies to what starts after the next login.'] : [];
    return [`${symbol} ${tool.title}`, words, [...tool.reasons, ...later].join(' ')];
  });
  const paint = (text: string, column: number, row: number) =>
    column === 1 ? style[MARK[shown[row]!.verdict][1]](text) : text;
  return [
    certificates.length === 0
      ? 'WARP has installed no certificate of an organization.'
      : certificates.map(each => describeCertificate(each, style)).join('\n'),
    refused.map(({ reason }) => `${style.yellow('!')} ${printable(reason)}`).join('\n'),
    online ? describeSite(online) : '',
    columns(rows, paint, width),
    removalDue ? 'Tools still have changes for a certificate that is gone. Remove them: culvert trust undo' : '',
    tools.flatMap(({ title, administrator }) => administratorText(title, administrator)).join('\n'),
    tools.some(({ changes }) => changes.length > 0) ? 'Make the others trust it: culvert trust apply' : '',
  ]
    .filter(Boolean)
    .join('\n\n');
}

function describeSite({ host, issuer, inspected }: TrustOnline): string {
  const how = inspected ? 'inspected by the organization' : 'not inspected';
  return `${host}: ${how}, signed by ${printable(issuer) || '(no name)'}`;
}

function administratorText(title: string, commands: readonly string[]): string[] {
  return commands.length > 0 ? [`${title}, for an administrator:`, ...commands.map(line => `  ${line}`)] : [];
}

function describeCertificate(certificate: TrustCertificate, style: Style): string {
  const { name, from, until, source, state, confirmed } = certificate;
  const origin = source ?? (confirmed ? 'confirmed by you' : 'no longer on this machine');
  const day = (time: string) => time.slice(0, 10);
  return [
    `${style.bold(printable(name) || '(no name)')}: ${STATES[state]}, ${day(from)} to ${day(until)}`,
    ...certificateFacts(certificate).map(([label, value]) => `  ${label} ${printable(value)}`),
    `  ${printable(origin)}`,
  ].join('\n');
}
