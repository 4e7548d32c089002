// Judges whether the installed tools verify certificates and read their list of authorities: they connect to a server that no
// tool should trust, and again with a list that adds the server's authority.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TrustTool, TrustVerdict } from '../api/trust.ts';
import type { Message } from '../api/values.ts';
import { makeDirectory, readText } from '../core/files.ts';
import { message, wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';
import { bundleFile, extraFile, fingerprintsIn, type Organization, parseCertificates } from './certificates.ts';
import { type Plan, type Planning, planChange } from './changes.ts';
import type { Probe, Site, Target } from './probe.ts';
import { CONNECTING } from './tools/connecting.ts';
import { BROWSERS, STORES, unreached } from './tools/places.ts';
import { firstProgram, type Instead, type List, type Look, shownPath, type Tool } from './tools/tool.ts';

/** Number of tools judged in parallel. More tools would only compete for two cores. */
const AT_ONCE = 3;

export const TOOLS: readonly Tool[] = [...CONNECTING, ...BROWSERS, ...STORES];

interface JudgingAll extends Omit<Planning, 'system'> {
  look: Look;
  probe: Probe;
  organization: Organization;
  site: Site | null;
  /** Ids of the tools to judge; undefined for all tools. */
  ids: readonly string[] | undefined;
}

/** Returns the verdicts on the installed tools, in the order of TOOLS. */
export async function judgeTools(judging: JudgingAll): Promise<TrustTool[]> {
  const { look, ids } = judging;
  const waiting = [...TOOLS.filter(({ id }) => ids?.includes(id) ?? true).entries()];
  const results: (TrustTool | null)[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [at, tool] = next;
      const program = firstProgram(tool.programs, look.env);
      const isHere = program !== null || tool.programs.length === 0;
      const judgment = isHere ? await judge(tool, program ?? '', judging) : null;
      results[at] = judgment ? describe(tool, { program, judgment, judging }) : null;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return [...results.flatMap(result => result ?? []), ...unreached(look, ids)];
}

interface Judged {
  program: string | null;
  judgment: Judgment;
  judging: JudgingAll;
}

function describe(tool: Tool, { program, judgment: { verdict, reasons, lacks }, judging }: Judged): TrustTool {
  const { look, session, journal, directory, organization } = judging;
  const wanted = lacks ? tool.wanted?.(look, lacks) : undefined;
  const plan: Plan = lacks && wanted ? planChange(wanted, lacks, { ...judging, system: look.system }) : { changes: [] };
  const wording = 'occupied' in plan ? [...reasons, plan.occupied] : reasons;
  const steps = journal.tools[tool.id];
  return {
    id: tool.id,
    title: tool.title,
    program,
    verdict,
    reasons: wording.map(each => wordMessage(each, english)),
    wording,
    applied: steps !== undefined,
    newSessions: steps?.some(step => step.kind === 'variable' && session.env[step.name] !== step.value) ?? false,
    changes: 'changes' in plan ? plan.changes : [],
    administrator: lacks
      ? organization.valid.flatMap(({ source, fingerprint }) => {
          const name = `organization-${fingerprint.replaceAll(':', '').slice(0, 8).toLowerCase()}`;
          return tool.administrator?.(source ?? extraFile(directory), name, look) ?? [];
        })
      : [],
  };
}

interface Judgment {
  verdict: TrustVerdict;
  reasons: Message[];
  /** The tool's list if it lacks certificates, which a change can add; otherwise null. */
  lacks: List | null;
  /** The list that the tool verifies with; null if it verifies nothing or reads another list. */
  list: List | null;
}

interface Judging {
  look: Look;
  probe: Probe;
  organization: Organization;
  site: Site | null;
  /** The directory of Culvert's lists. */
  directory: string;
}

/** A list with fewer authorities than this fraction of the system's list counts as replaced. */
const SHORT = 0.5;

/** Returns the verdict on a tool, or null without a list. With a site, the tool also connects there, with only its list. */
async function judge(tool: Tool, program: string, judging: Judging): Promise<Judgment | null> {
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

/** Writes a copy of a list that adds the probe's authority, and returns its path. */
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

/** Variables that programs need to find libraries and a proxy. They are not sent to a host. */
const KEPT = [
  'PATH',
  'LD_LIBRARY_PATH',
  'PYTHONPATH',
  'TMPDIR',
  'SSL_CERT_DIR',
  ...['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'].flatMap(name => [name, name.toUpperCase()]),
];

/** Values that hide an administrator's files and other settings that tools find without HOME. */
const NONE = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GOAUTH: 'off',
  GOENV: 'off',
  NETRC: '/dev/null',
  NPM_CONFIG_GLOBALCONFIG: '/dev/null',
  PIP_CONFIG_FILE: '/dev/null',
  PIP_NO_INPUT: '1',
  SYSTEM_WGETRC: '/dev/null',
  UV_NO_CONFIG: '1',
};

/**
 * Returns the environment of a tool that connects to a requested host, without the user's settings: `.curlrc`, `.netrc`,
 * `.gitconfig`, similar files and variables may hold credentials for every host.
 * @param home an empty directory that replaces the user's home
 */
export function withoutSettings({ env, home: own }: Pick<Look, 'env' | 'home'>, home: string): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(KEPT.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])));
  return {
    ...kept,
    ...NONE,
    HOME: home,
    // the user's toolchain and packages hold no credentials
    RUSTUP_HOME: env.RUSTUP_HOME || join(own, '.rustup'),
    PYTHONUSERBASE: env.PYTHONUSERBASE || join(own, '.local'),
  };
}
