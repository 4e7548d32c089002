// Runs `culvert update`, which checks for a newer release, installs it, and rolls it back.
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, Unreachable } from '../../../api/client.ts';
import type { UpdateCheck, UpdateResponse } from '../../../api/schema.ts';
import { dateTime } from '../../../core/terminal.ts';
import { formatBytes } from '../../../view/format.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show } from '../../context.ts';
import { createProgress, type Progress } from '../../dialog.ts';
import { assertNotSuspended, EXIT, Failure, orNull } from '../../errors.ts';
import { columns } from '../../layout.ts';
import { outcomeOf, pendingChanges, restartText } from '../../pending.ts';
import { createTransport } from '../../transport.ts';

/** Limit for a download over a slow connection; the daemon itself stops when no data arrives. */
const APPLY_MS = 6 * 3_600_000;
/** Limit from the reply to the new version's first answer; systemd waits 2 s in between. */
const RESTART_MS = 60_000;

export const checkUpdate: Run = async context => {
  const check = await context.client.call('GET /api/update/check', { query: { fresh: '1' } });
  show(context, { ...check, ok: check.problem === null }, () => described(check, context.width));
  return check.problem ? EXIT.failure : EXIT.ok;
};

export const applyUpdate: Run = async context => {
  const check = await context.client.call('GET /api/update/check', { query: { fresh: '1' } });
  const { current, latest, updateAvailable, problem, applicable, command } = check;
  const hint = command === null ? undefined : `Run: ${command}`;
  if (problem && command) throw new Failure('This installation is not updated by the daemon.', { hint });
  if (problem) throw new Failure(`Nothing was changed: ${problem.detail}`);
  if (latest === null || latest === current) {
    show(context, check, () => `Culvert ${current} is the newest.`);
    return EXIT.ok;
  }
  if (!applicable) throw new Failure(`Culvert ${latest} is out, but this installation can't replace itself.`, { hint });
  if (!updateAvailable) context.say(`Culvert ${latest} was rolled back before; it is installed again.`);
  const changed = await followed(context, () => patient(context).call('POST /api/update/apply', { body: {} }));
  show(
    context,
    changed,
    ({ from, to }) => `Updated from Culvert ${from} to ${to}. To go back: culvert update rollback`,
  );
  return EXIT.ok;
};

export const rollBack: Run = async context => {
  const before = await pendingChanges(context.env);
  const changed = await followed(context, () => patient(context).call('POST /api/update/rollback', { body: {} }));
  const outcome = await outcomeOf(before, context.env);
  show(context, { ...changed, ...outcome }, ({ from, to }) => `Went back from Culvert ${from} to ${to}.`);
  for (const line of restartText(outcome)) context.say(line);
  return EXIT.ok;
};

function described(check: UpdateCheck, width: number): string {
  const { current, channel, latest, updateAvailable, manifest, checkedAt, problem, applicable, command, previous } =
    check;
  const how = applicable ? 'culvert update apply' : (command ?? 'by hand');
  const rows = [
    ['Installed', current],
    ['Newest', latest ?? 'not known'],
    ['Channel', channel],
    ...(manifest ? [['Released', `${dateTime(manifest.generatedAt)}, signed by ${manifest.signer}`]] : []),
    ...(previous === null ? [] : [['Before', `${previous} (culvert update rollback)`]]),
    ['Checked', dateTime(checkedAt)],
  ];
  const verdict = problem
    ? `No answer about newer versions: ${problem.detail}`
    : updateAvailable
      ? `Culvert ${latest} is out. To install it: ${how}`
      : latest === null || latest === current
        ? `Culvert ${current} is the newest.`
        : `Culvert ${latest} was rolled back and is not offered again. To install it anyway: ${how}`;
  return `${columns(rows, cell => cell, width)}\n${verdict}`;
}

/** Shows the daemon's progress, then waits until the installed version answers. */
async function followed(context: Context, work: () => Promise<UpdateResponse>): Promise<UpdateResponse> {
  const progress = createProgress(context);
  const stream = await context.client.events();
  const listening = listen(stream.events, context, progress);
  try {
    const changed = await work();
    progress.step(`Starting Culvert ${changed.to}`);
    await answers(context, changed.to);
    return changed;
  } finally {
    stream.close();
    await listening;
    progress.end();
  }
}

async function listen(
  events: Awaited<ReturnType<Context['client']['events']>>['events'],
  { stderr }: Context,
  progress: Progress,
): Promise<void> {
  try {
    for await (const { event, data } of events)
      if (event === 'update' && data.progress) progress.step(phase(data.progress, stderr.isTTY === true));
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error; // the daemon restarts
  }
}

const PHASES = { downloading: 'Downloading', verifying: 'Verifying', installing: 'Installing' } as const;
const BAR = 24;

/** Returns a line for a phase; only a terminal gets a bar, so that elsewhere the line is printed once. */
function phase({ phase, received, total }: NonNullable<UpdateCheck['progress']>, terminal: boolean): string {
  if (!terminal || phase !== 'downloading') return PHASES[phase];
  const filled = Math.round((received / Math.max(total, 1)) * BAR);
  return `${PHASES[phase]} ${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ${formatBytes(received, english)} of ${formatBytes(total, english)}`;
}

async function answers({ client, signal }: Context, version: string): Promise<void> {
  const deadline = Date.now() + RESTART_MS;
  for (;;) {
    if ((await orNull(client.call('GET /api/version')))?.version === version) return;
    if (Date.now() > deadline || signal.aborted) {
      throw new Failure(`Culvert ${version} is installed, but does not answer yet.`, {
        hint: 'Start it with: culvert. Or go back: culvert, then culvert update rollback',
      });
    }
    await delay(100);
  }
}

function patient({ paths }: Context) {
  return createClient(createTransport(paths.socket, { writeMs: APPLY_MS }, () => assertNotSuspended(paths)));
}
