// Reports which of this user's tools trust the organization's certificate, and applies and undoes changes, for the command line
// and the API.
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TrustReport, TrustReportRequest, TrustRequest, TrustResponse, TrustTool } from '../api/trust.ts';
import type { FeatureContext } from '../controls.ts';
import { BUNDLES } from '../core/ca-certificates.ts';
import { readText } from '../core/files.ts';
import { withProblems } from '../problem.ts';
import type { Paths } from '../system/paths.ts';
import { wordMessage } from '../view/message.ts';
import { isMember } from '../view/states/registration.ts';
import { english } from '../view/translator.ts';
import {
  listCertificates,
  organizationOf,
  type Place,
  parseCertificates,
  systemList,
  writeLists,
} from './certificates.ts';
import { makeChange, planChange, renewStores, undoChange } from './changes.ts';
import { applyEnvironment, type Session, variablesOf } from './environment.ts';
import { type Journal, journalFile, readJournal, TRUST_FAILURES, trustFailure, withJournal } from './journal.ts';
import { judgeTools, TOOLS } from './judge.ts';
import { DIRECTORY, OLD_PLACE, SYSTEM_PLACES } from './organization.ts';
import { ask, openProbe, openSite } from './probe.ts';
import { firstProgram, type Look } from './tools/tool.ts';

export interface TrustOptions {
  env: NodeJS.ProcessEnv;
  paths: Paths;
  signal: AbortSignal;
  /** True if the device belongs to an organization; null before the first read. */
  isMember?: boolean | null;
  /** The root directory and its owner, which tests replace. */
  place?: Place | undefined;
}

/** The state without the tools. */
type TrustSummary = Omit<TrustReport, 'ok' | 'tools'> & {
  /** Tools that Culvert changed. */
  applied: string[];
};

export interface Trust {
  /** Returns the state from files, without starting a program. @throws Failure */
  summary(): TrustSummary;
  /** Returns the directories with the files that determine the lists. */
  directories(): string[];
  /**
   * Judges the tools. Without a certificate, it does so only for a call with `ids` or `host`.
   * @param ids the tools to judge, or undefined for all @param host a host, or a host and a port, for a further connection
   * @throws Failure if the host does not answer
   */
  report(ids?: readonly string[], host?: string): Promise<TrustReport>;
  /**
   * @param ids the tools to change, or undefined for all tools that lack a certificate and can be changed
   * @returns a line for each change @throws Failure
   */
  apply(ids?: readonly string[]): Promise<string[]>;
  /** @param ids the tools to revert, or undefined for all @returns a line for each change @throws Failure */
  undo(ids?: readonly string[]): Promise<string[]>;
  /** Accepts a certificate that WARP did not install. @param fingerprint the user's input @throws Failure */
  confirm(file: string, fingerprint: string): Promise<void>;
  /** Updates Culvert's lists after a change of a certificate or the system's list. @returns true if a list changed */
  refresh(): Promise<boolean>;
}

export function createTrust({ env, paths, signal, isMember = null, place = SYSTEM }: TrustOptions): Trust {
  const home = env.HOME ?? '/';
  const session = { env, home, config: paths.config, signal };
  const setting: Setting = { session, directory: paths.trust, isMember, place };
  return {
    directories: () => directoriesOf(place.root),
    summary: () => summaryOf(readMachine(setting)),
    report: (ids, host) => report(setting, ids, host),
    apply: ids => apply(setting, ids),
    undo: ids => undo(setting, ids),
    confirm: (file, fingerprint) => confirm(setting, file, fingerprint),
    refresh: () => refresh(setting),
  };
}

function directoriesOf(root: string): string[] {
  const files = [...BUNDLES, ...SYSTEM_PLACES, OLD_PLACE].flatMap(file => {
    // a system list may be a link to the generated file
    const path = root + file;
    return existsSync(path) ? [path, realpathSync(path)] : [path];
  });
  return [...new Set([...files.map(file => dirname(file)), root + DIRECTORY])];
}

async function report(setting: Setting, ids?: readonly string[], host?: string): Promise<TrustReport> {
  const { session, directory } = setting;
  const now = readMachine(setting);
  const organization = organizationOf(now.certificates);
  if (isEmpty(now) && !ids && host === undefined) return reportOf(now, []);
  const site = host === undefined ? null : await openSite(host, organization.valid, session.signal);
  const probe = await openProbe(session.signal);
  try {
    const tools = await judgeTools({
      look: lookOf(setting, now),
      probe,
      organization,
      site,
      session,
      journal: now.journal,
      directory,
      certificates: organization.valid,
      ids,
    });
    if (!site) return reportOf(now, tools);
    const { judge: _judge, ...online } = site;
    return { ...reportOf(now, tools), online };
  } finally {
    probe.close();
  }
}

/** True if there is no certificate to trust and no change to undo. */
function isEmpty({ certificates, journal }: Machine): boolean {
  return certificates.length + Object.keys(journal.tools).length === 0;
}

function reportOf(now: Machine, tools: TrustTool[]): TrustReport {
  const { applied: _, ...summary } = summaryOf(now);
  return { ok: true, ...summary, tools };
}

function summaryOf(now: Machine): TrustSummary {
  return {
    certificates: now.certificates.map(({ pem: _, ...each }) => each),
    refused: now.refused.map(({ path, reason }) => ({ path, reason: wordMessage(reason, english), wording: reason })),
    removalDue: isRemovalDue(now),
    applied: Object.keys(now.journal.tools),
  };
}

async function apply(setting: Setting, ids?: readonly string[]): Promise<string[]> {
  const { session, directory } = setting;
  if (!hasValid(readMachine(setting)))
    throw trustFailure('nothing', 'There is no valid certificate of an organization on this machine.');
  const { tools } = await report(setting, ids);
  const chosen = choose(tools, ids);
  return withJournal(directory, async open => {
    const now = readMachine(setting);
    const look = lookOf(setting, now);
    const certificates = organizationOf(now.certificates).valid;
    write(directory, open.journal, now);
    open.save();
    const done: string[] = [];
    for (const { id } of chosen) {
      const tool = TOOLS.find(each => each.id === id);
      const list = await tool?.list(firstProgram(tool.programs, look.env) ?? '', look);
      const wanted = list && tool?.wanted?.(look, list);
      if (!wanted) continue;
      const planning = { session, journal: open.journal, system: now.system, directory, certificates };
      const plan = planChange(wanted, list, planning);
      if ('occupied' in plan) throw trustFailure('refused', wordMessage(plan.occupied, english));
      done.push(...makeChange(id, wanted, open, { directory, certificates }));
    }
    return [...done, ...(await applyEnvironment(session, open))];
  });
}

async function undo({ session, directory, place }: Setting, ids?: readonly string[]): Promise<string[]> {
  return withJournal(directory, async open => {
    const { tools } = open.journal;
    const chosen = ids ?? Object.keys(tools);
    const absent = chosen.find(id => !Object.hasOwn(tools, id));
    if (absent) throw trustFailure('nothing', `Nothing was changed for ${absent}.`);
    if (chosen.length === 0) throw trustFailure('nothing', 'There is nothing to undo.');
    const done = chosen.flatMap(id => undoChange(id, open));
    done.push(...(await applyEnvironment(session, open)));
    if (Object.keys(tools).length === 0) {
      open.journal.known = [];
      // running programs still read the lists, which no refresh updates anymore
      writeLists(directory, [], systemList(place.root));
    }
    open.save();
    return done;
  });
}

async function confirm({ directory }: Setting, file: string, fingerprint: string): Promise<void> {
  const [certificate, ...more] = parseCertificates(readText(file) ?? '');
  if (!certificate || more.length > 0) throw trustFailure('refused', `${file} is not one certificate of an authority.`);
  if (plain(fingerprint) !== plain(certificate.fingerprint))
    throw trustFailure('refused', 'The fingerprint is another one. Nothing was changed.');
  await withJournal(directory, async open => {
    const others = open.journal.confirmed.filter(each => each.fingerprint !== certificate.fingerprint);
    open.journal.confirmed = [...others, certificate];
    open.save();
  });
}

async function refresh(setting: Setting): Promise<boolean> {
  const { directory } = setting;
  if (readText(journalFile(directory)) === null) return false;
  return withJournal(directory, async open => {
    if (Object.keys(open.journal.tools).length === 0) return false;
    const now = readMachine(setting);
    const wasWritten = write(directory, open.journal, now);
    if (wasWritten) open.save();
    renewStores(open, organizationOf(now.certificates).valid);
    return wasWritten;
  });
}

function write(directory: string, journal: Journal, { certificates, system }: Machine): boolean {
  const { valid } = organizationOf(certificates);
  const texts = new Map([...journal.known, ...valid].map(({ fingerprint, pem }) => [fingerprint, pem]));
  // store only the properties of a certificate
  journal.known = [...texts.values()].flatMap(parseCertificates);
  return writeLists(directory, valid, system);
}

const SYSTEM: Place = { root: '', owner: 0 };
const plain = (fingerprint: string) => fingerprint.replace(/[^0-9a-f]/gi, '').toLowerCase();

function choose(tools: readonly TrustTool[], ids: readonly string[] | undefined): TrustTool[] {
  const changeable = tools.filter(({ changes }) => changes.length > 0);
  if (!ids) {
    if (changeable.length > 0) return changeable;
    throw trustFailure('nothing', 'There is nothing to change.');
  }
  return ids.map(id => {
    const tool = tools.find(each => each.id === id);
    if (!tool) throw trustFailure('nothing', `There is no tool "${id}" here.`, 'See: culvert trust');
    if (tool.changes.length > 0) return tool;
    throw trustFailure('nothing', `There is nothing to change for ${id}. ${tool.reasons.join(' ')}`.trim());
  });
}

interface Setting {
  session: Session;
  /** Directory of the journal and the lists. */
  directory: string;
  isMember: boolean | null;
  place: Place;
}

type Machine = ReturnType<typeof readMachine>;

function readMachine({ directory, isMember, place }: Setting) {
  const journal = readJournal(directory);
  const system = systemList(place.root);
  return { journal, system, ...listCertificates({ place, journal, system, isMember }) };
}

function hasValid({ certificates }: Machine): boolean {
  return certificates.some(({ state }) => state === 'valid');
}

/** True if tools still trust the organization, but it has no valid certificate. */
function isRemovalDue(machine: Machine): boolean {
  return !hasValid(machine) && Object.keys(machine.journal.tools).length > 0;
}

/** Returns what tools will use in the next session. */
function lookOf({ session, place }: Setting, { journal, system }: Machine): Look {
  const { home, config, signal } = session;
  const env = { ...session.env, ...variablesOf(journal) };
  return {
    env,
    home,
    config,
    root: place.root,
    system,
    ask: async (program, ...args) => {
      const printed = await ask({ program, args, env }, signal);
      return printed?.code === 0 ? printed.stdout : null;
    },
  };
}

/**
 * Creates the service for the API. Its methods throw Problem trust-refused or busy.
 * @param changed updates the published state after a change
 * @param place replaces the root directory and its owner in tests
 */
export function createTrustService(
  { env, paths, state }: Pick<FeatureContext, 'env' | 'paths' | 'state'>,
  changed: () => Promise<void>,
  place?: Place,
) {
  const ended = new AbortController();
  /** Running reports by tools and host. A second client waits for the same report. */
  const reports = new Map<string, Promise<TrustReport>>();
  const open = () => createTrust({ env, paths, signal: ended.signal, isMember: isMember(state.snapshot()), place });

  const change = async (
    { tools }: TrustRequest,
    act: (tools?: readonly string[]) => Promise<string[]>,
  ): Promise<TrustResponse> => {
    try {
      return { ok: true, done: await withProblems(TRUST_FAILURES, () => act(tools)) };
    } finally {
      await changed();
    }
  };

  return {
    /** @param request `host` is a further host that the tools connect to */
    report({ tools, host }: TrustReportRequest): Promise<TrustReport> {
      const key = JSON.stringify([tools, host]);
      const report =
        reports.get(key) ??
        withProblems(TRUST_FAILURES, () => open().report(tools, host)).finally(() => reports.delete(key));
      reports.set(key, report);
      return report;
    },
    apply: (request: TrustRequest) => change(request, tools => open().apply(tools)),
    undo: (request: TrustRequest) => change(request, tools => open().undo(tools)),
    stop: () => ended.abort(),
  };
}
