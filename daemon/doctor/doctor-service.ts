// Runs checks for the API, publishes their results as they arrive, and applies fixes.
import { buffer } from 'node:stream/consumers';
import { type ActionName, actionRequest } from '../api/actions.ts';
import type {
  CheckResult,
  Diagnosis,
  DoctorBundle,
  DoctorFixRequest,
  DoctorFixResponse,
  DoctorReport,
  DoctorRequest,
} from '../api/doctor.ts';
import type { LogEntry } from '../api/schema.ts';
import type { FeatureContext, HistoryControl } from '../controls.ts';
import { Problem, withProblems } from '../problem.ts';
import { VERSION } from '../system/installation.ts';
import { runningInstance } from '../system/instance.ts';
import { causeOf } from '../view/states/causes.ts';
import { canBeCause, WORST_FIRST } from '../view/states/findings.ts';
import { english } from '../view/translator.ts';
import type { Check } from './check.ts';
import { CHECKS } from './checks/all.ts';
import { createBundle, packBundle, readTimeline } from './diagnose/bundle.ts';
import { runChecks } from './engine.ts';
import { shownResult } from './file-fix.ts';
import { FIX_FAILURES, undoableByAnyone } from './fix-journal.ts';
import { applyFix, type FixContext, undoable, undoLast } from './fixes.ts';
import { undoJournal, worldWithDaemon } from './gather.ts';
import type { World } from './world/world.ts';

interface DoctorService {
  /** @throws Problem not-found for a check that does not exist */
  run(request: DoctorRequest): Promise<DoctorReport>;
  /** @throws Problem not-found, precondition-failed, fix-needs-administrator, fix-failed */
  fix(request: DoctorFixRequest): Promise<DoctorFixResponse>;
  /** @throws Problem fix-failed, fix-needs-administrator */
  undo(): Promise<DoctorFixResponse>;
  /** Creates a redacted bundle. @param entries entries of the command log @param read a page of the history */
  bundle(entries: readonly LogEntry[], read: HistoryControl['read']): Promise<DoctorBundle>;
  /** Finds the most likely cause of a failed tunnel with the cheap checks; null without a cause. */
  diagnose(): Promise<Diagnosis | null>;
  /** Ends all runs. */
  stop(): void;
}

export function createDoctorService(context: FeatureContext): DoctorService {
  const { env, paths, state, settings, tunnel } = context;
  const ended = new AbortController();
  /** Current runs by request: clients with the same request share a run. */
  const runs = new Map<string, Promise<DoctorReport>>();

  function world(online = false): World {
    const snapshot = state.snapshot();
    const port = runningInstance(paths)?.port ?? null;
    const reported = { health: { version: VERSION, pid: process.pid, port }, snapshot, config: settings.response() };
    const world = worldWithDaemon(reported, { env, paths, signal: ended.signal, online });
    return { ...world, targets: { ...world.targets, trace: settings.config.warp.traceUrl } };
  }

  async function start({ only, online = false }: DoctorRequest): Promise<DoctorReport> {
    const checks = choose(only);
    const started = performance.now();
    let completed = 0;
    const total = checks.length;
    const publish = (result: CheckResult | null) =>
      state.publish('doctor', { running: true, completed, total, result, undo: null });
    publish(null);
    try {
      await tunnel.refresh('all');
      const within = world(online);
      const results = await runChecks(checks, within, {
        onResult(result) {
          completed += 1;
          publish(shownResult(result));
        },
      });
      return {
        ok: true,
        generatedAt: new Date().toISOString(),
        results: results
          .map(shownResult)
          .sort((a, b) => WORST_FIRST.indexOf(a.verdict) - WORST_FIRST.indexOf(b.verdict)),
        undo: journal(),
        durationMs: Math.round(performance.now() - started),
        processes: within.tools.started(),
      };
    } finally {
      state.publish('doctor', { running: false, completed, total, result: null, undo: journal() });
    }
  }

  const journal = () => undoableByAnyone(undoable(undoJournal(paths)).map(({ steps: _, ...entry }) => entry));

  /** Makes a change for one check, then publishes the result to every client. */
  async function change(act: () => Promise<DoctorFixResponse>): Promise<DoctorFixResponse> {
    const total = 1;
    let result: CheckResult | null = null;
    state.publish('doctor', { running: true, completed: 0, total, result, undo: null });
    try {
      const response = await act();
      result = response.result;
      return response;
    } finally {
      state.publish('doctor', { running: false, completed: 1, total, result, undo: journal() });
    }
  }

  async function resultOf(id: string, online: boolean): Promise<CheckResult> {
    await tunnel.refresh('all');
    const [result] = await runChecks(choose([id]), world(online));
    if (!result) throw new Problem('not-found', `There is no check "${id}".`);
    return result;
  }

  const fixContext = (): FixContext => ({
    tools: world().tools,
    journal: undoJournal(paths),
    runAction: (action: ActionName, value) => tunnel.runAction(actionRequest(action, value)),
  });

  return {
    run(request) {
      const key = JSON.stringify([request.only ?? null, request.online ?? false]);
      const run = runs.get(key) ?? start(request).finally(() => runs.delete(key));
      runs.set(key, run);
      return run;
    },
    fix: ({ id, fixId }) =>
      change(async () => {
        // some checks find a problem only with --online
        let result = await resultOf(id, false);
        if (result.fixId !== fixId) result = await resultOf(id, true);
        if (!result.fix || result.fixId !== fixId)
          throw new Problem('precondition-failed', 'The fix is not the one that was shown.', {
            hint: 'Run the check again, and look at its fix.',
          });
        const done = await withProblems(FIX_FAILURES, () => applyFix(result, fixContext()));
        return { ok: true, done, result: shownResult(await resultOf(id, false)) };
      }),
    undo: () =>
      change(async () => {
        const [newest] = journal();
        if (newest?.administrator)
          throw new Problem('fix-needs-administrator', 'Only an administrator can undo this.', {
            hint: 'Run: culvert doctor undo',
          });
        const done = await withProblems(FIX_FAILURES, () => undoLast(fixContext()));
        const isCheck = CHECKS.some(({ id }) => id === newest?.id);
        return { ok: true, done, result: newest && isCheck ? shownResult(await resultOf(newest.id, false)) : null };
      }),
    async bundle(entries, read) {
      await tunnel.refresh('all');
      const within = world();
      const results = await runChecks(CHECKS, within);
      const timeline = await readTimeline(read);
      return pack({ world: within, results, entries, config: settings.response(), timeline, history: journal() });
    },
    async diagnose() {
      const cheap = CHECKS.filter(({ id, cheap }) => cheap && canBeCause(id));
      const results = await runChecks(cheap, world());
      return causeIn(results, causeOf(state.snapshot(), english)?.checks ?? []);
    },
    stop: () => ended.abort(),
  };
}

async function pack(contents: Parameters<typeof createBundle>[0]): Promise<DoctorBundle> {
  const bundle = await createBundle(contents);
  const archive = (await buffer(packBundle(bundle))).toString('base64');
  const files = bundle.files.map(({ name, text }) => ({ name, text }));
  return { ok: true, files, redacted: bundle.redacted, archive };
}

/** @param likely ids of the checks for the reported failure */
function causeIn(results: readonly CheckResult[], likely: readonly string[]): Diagnosis | null {
  const problems = results.filter(({ verdict }) => verdict === 'problem');
  const cause = problems.find(({ id }) => likely.includes(id)) ?? problems[0];
  if (!cause) return null;
  const { id, title, evidence, explanation, wording, source } = cause;
  // every client gets the diagnosis, and a fix of a file contains the whole new text
  const { fix, fixId } = cause.fix?.kind === 'file' ? { fix: null, fixId: null } : cause;
  const at = new Date().toISOString();
  return { id, title, evidence, explanation, ...(wording ? { wording } : {}), fix, fixId, source, at };
}

function choose(only: readonly string[] | undefined): readonly Check[] {
  if (!only) return CHECKS;
  const wrong = only.find(id => !CHECKS.some(check => check.id === id));
  if (wrong !== undefined)
    throw new Problem('not-found', `There is no check "${wrong}".`, {
      hint: `The checks are: ${CHECKS.map(({ id }) => id).join(', ')}`,
    });
  return CHECKS.filter(({ id }) => only.includes(id));
}
