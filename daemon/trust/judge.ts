// Judges a tool by its connections: to a server that no tool should trust, and with a list that adds its authority.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TrustVerdict } from '../api/trust.ts';
import type { Message } from '../api/values.ts';
import { makeDirectory, readText } from '../system/files.ts';
import { message } from '../view/message.ts';
import { type Certificate, fingerprintsIn, parseCertificates } from './certificates.ts';
import { bundleFile, extraFile } from './lists.ts';
import { withoutSettings } from './no-settings.ts';
import type { Site } from './online.ts';
import type { Probe, Target } from './probe.ts';
import type { Instead, List, Look, Tool } from './tools/tool.ts';
import { shownPath } from './write/edit-text.ts';

export interface Judgment {
  verdict: TrustVerdict;
  reasons: Message[];
  /** Its list where that lacks certificates, so that a change would help; otherwise null. */
  lacks: List | null;
  /** The list that it verifies with; null where it verifies nothing, or reads another list. */
  list: List | null;
}

/** The organization's certificates. */
export interface Organization {
  valid: readonly (Certificate & { source: string | null })[];
  /** Expired or withdrawn ones. */
  gone: readonly Certificate[];
}

interface Judging {
  look: Look;
  probe: Probe;
  organization: Organization;
  site: Site | null;
  /** The directory of Culvert's own lists. */
  directory: string;
}

/** A list with fewer authorities than this part of the system's was replaced. */
const SHORT = 0.5;

/** The verdict on a tool; null if it is not there. With a host, it connects there as well, with its list and no other setting. */
export async function judge(tool: Tool, program: string, judging: Judging): Promise<Judgment | null> {
  const judgment = await judgeHere(tool, program, judging);
  const { site, look, probe } = judging;
  const { connect } = tool;
  const list = judgment?.list;
  if (!judgment || !site || !connect || !list) return judgment;
  const extra = list.files.length > 0 ? (tool.instead?.(copyOfList(tool.id, list, probe), list) ?? {}) : {};
  const home = join(probe.directory, 'home');
  makeDirectory(home);
  const { accepts, wording } = await site.judge(target => {
    const command = commandOf(connect, program, { look: { ...look, env: withoutSettings(look, home) }, target, extra });
    return { ...command, args: [...(tool.noSettings ?? []), ...command.args] };
  }, probe.directory);
  const verdict = accepts === false && judgment.verdict === 'trusts' ? 'does-not-trust' : judgment.verdict;
  return { ...judgment, verdict, reasons: [...judgment.reasons, wording] };
}

async function judgeHere(tool: Tool, program: string, judging: Judging): Promise<Judgment | null> {
  const { look, probe, organization, directory } = judging;
  const { connect } = tool;
  const connects = (extra: Instead) =>
    connect ? probe.connects(target => commandOf(connect, program, { look, target, extra })) : null;
  const list = await tool.list(program, look);
  if (!list) return null;
  const verdict = (verdict: TrustVerdict, reasons: Message[], lacks: List | null = null): Judgment => ({
    verdict,
    reasons,
    lacks,
    list,
  });

  if (await connects({}))
    return {
      ...verdict('trusts-too-much', [
        message('It verifies no certificates: anyone on the way can read and change what it sends.'),
        ...(tool.offHint ? [tool.offHint] : []),
      ]),
      list: null,
    };
  const has = fingerprintsOf(list);
  const some = fingerprintsOf({ ...list, text: `${list.text ?? ''}${list.someText ?? ''}` });
  const gone = organization.gone.filter(({ fingerprint }) => some.has(fingerprint));
  if (gone.length > 0)
    return verdict('trusts-too-much', [
      message('It trusts a certificate that has expired or was withdrawn: %s', gone.map(({ name }) => name).join(', ')),
    ]);
  if (organization.valid.length === 0)
    return verdict('unknown', [message('There is no valid certificate of an organization.')]);
  const shown = list.files.map(shownPath).join(', ');
  const missing = organization.valid.filter(({ fingerprint }) => !has.has(fingerprint));
  if (missing.length > 0)
    return verdict(
      'does-not-trust',
      [
        shown
          ? message('Its list of authorities lacks the certificate: %s', shown)
          : message('Its own list of authorities lacks the certificate.'),
      ],
      list,
    );
  if (tool.instead && !(await connects(tool.instead(copyOfList(tool.id, list, probe), list))))
    return {
      ...verdict('does-not-trust', [message('It does not read its list of authorities: %s', shown)]),
      list: null,
    };
  if (isShort(list, has, { look, directory }))
    return verdict('trusts-too-much', [
      message(
        'Its list of authorities was replaced: %s has %d, the system’s has %d. Other sites fail.',
        shown,
        has.size,
        look.system?.fingerprints.size ?? 0,
      ),
    ]);
  return verdict('trusts', shown ? [message('It reads %s', shown)] : []);
}

/** A list with the authority of the probe, for one run of one program. */
function copyOfList(id: string, { files }: List, { directory, authority }: Probe): string {
  const path = join(directory, `${id}.pem`);
  writeFileSync(path, [...files.map(file => readText(file) ?? ''), authority].join('\n'));
  return path;
}

function fingerprintsOf({ files, text = '' }: List): Set<string> {
  const stored = parseCertificates(text).map(({ fingerprint }) => fingerprint);
  return new Set([...stored, ...files.flatMap(path => [...fingerprintsIn(path)])]);
}

function isShort(
  { files, ownList }: List,
  { size }: ReadonlySet<string>,
  { look: { system }, directory }: Pick<Judging, 'look' | 'directory'>,
): boolean {
  if (ownList || !system) return false;
  const own = [system.path, bundleFile(directory), extraFile(directory)];
  return !files.every(file => own.includes(file)) && size < SHORT * system.fingerprints.size;
}

interface Connecting {
  look: Look;
  target: Target;
  extra: Instead;
}

function commandOf(connect: NonNullable<Tool['connect']>, program: string, { look, target, extra }: Connecting) {
  const { args, env = {}, input } = connect(target, look);
  return {
    program,
    args: [...(extra.args ?? []), ...args],
    env: { ...look.env, ...env, ...extra.env },
    ...(input === undefined ? {} : { input }),
  };
}
