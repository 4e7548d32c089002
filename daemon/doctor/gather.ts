// Gathers the facts that checks need, from a running daemon or without one.
import type { ConfigResponse, Health, Snapshot } from '../api/schema.ts';
import { DEFAULTS } from '../config/keys.ts';
import { reason } from '../core/errors.ts';
import { foreignOwner, makeDirectory } from '../core/files.ts';
import { dataDirectory, VERSION } from '../system/installation.ts';
import type { Paths } from '../system/paths.ts';
import type { JournalCause } from '../warp/registration.ts';
import { type Knowledge, knowledgeSources, loadKnowledge } from './knowledge.ts';
import { readRawJournal, redactLine, registrationIn } from './world/journal.ts';
import { createTools } from './world/tools.ts';
import { type CulvertFacts, createWorld, loadSamples, saveSample, type World } from './world/world.ts';

/** Answers of a running daemon. */
interface Reported {
  health: Pick<Health, 'version' | 'pid' | 'port'>;
  snapshot: Snapshot;
  config: ConfigResponse;
}

interface GatherOptions {
  env: NodeJS.ProcessEnv;
  paths: Paths;
  signal?: AbortSignal;
  online?: boolean;
}

/** Creates the world from a running daemon's answers. */
export function worldWithDaemon({ health, snapshot, config }: Reported, options: GatherOptions): World {
  const { version, pid, port } = health;
  return worldOf(options, snapshot, {
    daemon: { version, pid, port },
    configuration: configurationOf(config),
    port: config.config.server.port,
    cli: config.config.warp.cli,
  });
}

/** Creates the world without a daemon; asks the tunnel CLI once. */
export async function worldAlone(options: GatherOptions): Promise<World> {
  const { env, paths } = options;
  const { loadConfig } = await import('../config/layers.ts');
  try {
    const settings = await loadConfig({ system: paths.systemConfig, user: paths.userConfig }, env);
    const { server, warp } = settings.config;
    const configuration = configurationOf(settings.response());
    const snapshot = await readTunnel(warp.cli, options);
    return worldOf(options, snapshot, { daemon: null, configuration, port: server.port, cli: warp.cli });
  } catch (error) {
    const configuration = { error: reason(error) };
    return worldOf(options, null, { daemon: null, configuration, port: DEFAULTS.server.port, cli: DEFAULTS.warp.cli });
  }
}

async function readTunnel(cli: string, { env, paths }: GatherOptions): Promise<Snapshot | null> {
  const [{ createTunnel }, { POLICY_FILE }, { createState, createLog }] = await Promise.all([
    import('../warp/tunnel.ts'),
    import('../warp/parse/policy-file.ts'),
    import('../state/store.ts'),
  ]);
  const state = createState({ available: false, path: null, version: null, emulated: false });
  const log = createLog({ capacity: 50, onEntry() {} });
  const { acceptedTerms } = paths;
  const tunnel = createTunnel({ cli, emulated: false, env, acceptedTerms, policyFile: POLICY_FILE, state, log });
  try {
    tunnel.start();
    await tunnel.refresh('all');
    return state.snapshot();
  } finally {
    await tunnel.stop();
  }
}

function configurationOf({ problems, restartRequired }: ConfigResponse): CulvertFacts['configuration'] {
  return {
    problems: problems.map(
      ({ file, line, key, message }) =>
        `${file}${line === null ? '' : `, line ${line}`}: ${key ? `${key}: ` : ''}${message}`,
    ),
    restartRequired,
  };
}

type Own = Pick<CulvertFacts, 'daemon' | 'configuration' | 'port' | 'cli'>;

/** Creates the redactor of `culvert diagnose`, with the names that this machine and its tunnel have, for a text to show. */
export function redactorFor(tunnel: Snapshot | null, knowledge: Knowledge): (text: string) => Promise<string> {
  return async text => (await import('./diagnose/bundle.ts')).machineRedactor(tunnel, knowledge).text(text);
}

/** Reads the knowledge of the installation, with that of a signed catalog and the user's own. */
export function knowledgeOf({ userConfig }: Pick<Paths, 'userConfig'>, env: NodeJS.ProcessEnv): Knowledge {
  return loadKnowledge(knowledgeSources(`${dataDirectory}/knowledge`, userConfig, env));
}

function worldOf(options: GatherOptions, tunnel: Snapshot | null, own: Own): World {
  const { env, paths } = options;
  const { runtime, state, userConfig, brokenChanges } = paths;
  const samplesFile = `${paths.state}/doctor-samples.json`;
  const samples = loadSamples(samplesFile);
  const knowledge = knowledgeOf(paths, env);
  return createWorld({
    env,
    tunnel,
    culvert: { version: VERSION, runtime, state, userConfig, brokenChanges, ...own },
    knowledge,
    redact: redactorFor(tunnel, knowledge),
    samples,
    remember(sample) {
      if (foreignOwner(paths.state)) return;
      makeDirectory(paths.state);
      saveSample(samplesFile, samples, sample);
    },
    ...(options.signal ? { signal: options.signal } : {}),
    ...(options.online === undefined ? {} : { online: options.online }),
  });
}

/** Returns the path of the journal of fixes that `culvert doctor undo` can revert. */
export function undoJournal({ state }: Paths): string {
  return `${state}/doctor-undo.json`;
}

interface Options {
  env: NodeJS.ProcessEnv;
  paths: Paths;
  snapshot: Snapshot | null;
  signal?: AbortSignal;
}

/** Returns the cause; null without one, or if this user may not read the journal. Never rejects. */
export async function readRegistrationJournal({ env, paths, snapshot, signal }: Options): Promise<JournalCause | null> {
  const tools = createTools({ env, signal: signal ?? new AbortController().signal });
  const knowledge = knowledgeOf(paths, env);
  try {
    const found = registrationIn(await readRawJournal(tools), knowledge.patterns, { now: Date.now() });
    if (!found) return null;
    const { text } = await redactLine({ at: null, text: found.line }, redactorFor(snapshot, knowledge));
    return { ...found, line: text };
  } catch {
    return null; // the other evidence still counts
  }
}
