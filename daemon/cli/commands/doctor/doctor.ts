// Runs `culvert doctor`, which runs checks, shows problems first with their evidence, and applies and undoes fixes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { actionRequest } from '../../../api/actions.ts';
import { Unreachable } from '../../../api/client.ts';
import type { CheckGroup, CheckResult, Fix, Verdict } from '../../../api/doctor.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../../core/terminal.ts';
import type { Check } from '../../../doctor/check.ts';
import { CHECKS } from '../../../doctor/checks/all.ts';
import { runChecks } from '../../../doctor/engine.ts';
import { shownResult, withoutText } from '../../../doctor/file-fix.ts';
import { REPAIR_FAILED, repairProgram, undoableByAnyone } from '../../../doctor/fix-journal.ts';
import {
  applyFix,
  canApply,
  type FixContext,
  type HandedOver,
  handedOver,
  undoable,
  undoLast,
} from '../../../doctor/fixes.ts';
import { undoJournal, worldAlone, worldWithDaemon } from '../../../doctor/gather.ts';
import type { Tools } from '../../../doctor/world/tools.ts';
import type { World } from '../../../doctor/world/world.ts';
import { adminLines, adminUndoLines, fixText, quote, repairWords } from '../../../view/fix.ts';
import { WORST_FIRST } from '../../../view/states/findings.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { confirm, createProgress, isAttended } from '../../dialog.ts';
import { EXIT, Failure, usage } from '../../errors.ts';
import { columns, unbroken } from '../../layout.ts';

export const doctor: Run = async (context, _, options) => {
  const checks = chosenChecks(options.only);
  const online = options.online === true;
  const started = performance.now();
  const { world, results } = await examine(context, checks, online);
  const undo = undoableByAnyone(undoable(undoJournal(context.paths)).map(({ steps: _, ...entry }) => entry));
  const report = {
    ok: !results.some(({ verdict }) => verdict === 'problem'),
    generatedAt: new Date().toISOString(),
    results: results.map(shownResult),
    undo,
    durationMs: Math.round(performance.now() - started),
    processes: world.tools.started(),
  };
  show(context, report, () => describeResults(results, context.style, options.verbose === true));
  leaveWhenPrinted(context, exitCodeOf(results));
  return exitCodeOf(results);
};

/** Runs checks with a spinner, and sorts the results: problems first. */
export async function examine(context: Context, checks: readonly Check[], online: boolean) {
  const progress = createProgress(context);
  try {
    progress.step('Reading the state of the tunnel');
    const world = await worldFor(context, online);
    if (online) context.say(`Contacting ${contacted(world, checks).join(', ')}.`);
    const running = new Set<Check>();
    const tell = () => progress.step(`Checking: ${[...running].map(({ title }) => title).join(', ')}`);
    const results = await runChecks(checks, world, {
      onStart(check) {
        running.add(check);
        if (context.stderr.isTTY) tell();
      },
      onResult({ id }) {
        for (const check of running) if (check.id === id) running.delete(check);
        if (context.stderr.isTTY && running.size > 0) tell();
      },
    });
    const rank = (verdict: Verdict) => WORST_FIRST.indexOf(verdict);
    return { world, results: results.sort((a, b) => rank(a.verdict) - rank(b.verdict)) };
  } finally {
    progress.end();
  }
}

/** Returns the hosts that the chosen checks contact with `--online`, to name before contacting them. */
function contacted({ targets }: World, checks: readonly Check[]): string[] {
  const has = (id: string) => checks.some(check => check.id === id);
  return [
    ...(has('reachability') || has('path-mtu') ? [targets.tunnel] : []),
    ...(has('reachability') ? ['1.1.1.1'] : []),
    ...(has('captive-portal') ? [new URL(targets.portal).host] : []),
    ...(has('no-traffic') ? [new URL(targets.trace).host] : []),
  ];
}

async function worldFor(context: Context, online: boolean): Promise<World> {
  const { client, env, paths, signal } = context;
  const options = { env, paths, signal, online };
  try {
    const [health, snapshot, config] = await Promise.all([
      client.call('GET /api/health'),
      client.call('GET /api/snapshot', { query: { fresh: '1' } }),
      client.call('GET /api/config'),
    ]);
    const world = worldWithDaemon({ health, snapshot, config }, options);
    return { ...world, targets: { ...world.targets, trace: config.config.warp.traceUrl } };
  } catch (error) {
    if (error instanceof Unreachable) return worldAlone(options);
    throw error;
  }
}

function chosenChecks(only: Options[string]): readonly Check[] {
  if (typeof only !== 'string') return CHECKS;
  const ids = only.split(',').map(id => id.trim());
  const wrong = ids.filter(id => !CHECKS.some(check => check.id === id));
  if (wrong.length > 0)
    throw usage(`There is no check "${wrong[0]}".`, `The checks are: ${CHECKS.map(({ id }) => id).join(', ')}`);
  return CHECKS.filter(({ id }) => ids.includes(id));
}

/** Returns the exit code for the worst verdict. */
function exitCodeOf(results: readonly CheckResult[]): number {
  const has = (verdict: Verdict) => results.some(result => result.verdict === verdict);
  return has('problem') ? EXIT.failure : has('unknown') ? EXIT.incomplete : EXIT.ok;
}

/** Exits once the output is written: on a hanging file system, a probe would keep the process alive. */
function leaveWhenPrinted({ stdout }: Context, code: number): void {
  stdout.write('', () => setTimeout(() => process.exit(code), 50).unref());
  setTimeout(() => process.exit(code), 500).unref();
}

export const doctorFix: Run = async (context, [id = ''], options) => {
  const { world, results } = await examine(context, chosenChecks(id), options.online === true);
  const [result] = results;
  if (!result?.fix) {
    const text = result ? describeResults([result], context.style, true) : '';
    throw new Failure(`There is no fix for ${id} now.`, { hint: text });
  }
  const { fix } = result;
  context.say(describeResults([result], context.style, true));
  if (fix.kind === 'open') {
    show(context, { ok: true, done: [], url: fix.url }, () => fix.url);
    return EXIT.ok;
  }
  const words = canApply(fix) ? null : repairWords(fix);
  const program = words && repairProgram();
  // without culvert-repair, steps for an administrator are only printed, so they need no question
  const asRoot = words && program && isAttended(context) ? ['fix', ...words] : null;
  if ((canApply(fix) || asRoot) && options.yes !== true && !(await confirm(context, `${fix.label}?`)))
    throw new Failure('Nothing was changed.', { hint: 'Without a terminal, confirm with --yes.' });
  const done = asRoot
    ? await runAsRoot(asRoot, world.tools)
    : await carryOut(() => applyFix(result, hands(context, world)));
  const [after] = await runChecks(
    CHECKS.filter(check => check.id === id),
    await worldFor(context, options.online === true),
  );
  show(context, { ok: true, done, result: after && shownResult(after) }, () =>
    [...done.map(line => `✓ ${line}`), 'Undo it with: culvert doctor undo'].join('\n'),
  );
  return EXIT.ok;
};

export const doctorUndo: Run = async (context, _, options) => {
  const journal = undoJournal(context.paths);
  const own = undoable(journal);
  const [newest] = undoableByAnyone(own);
  const steps = newest?.administrator ? [] : (own[0]?.steps ?? []);
  const administrator = handedOver(journal).map(({ file: _, ...entry }) => entry);
  const forAdministrator = administrator.flatMap(describeHandedOver).join('\n');
  if (!newest) {
    if (forAdministrator) context.say(forAdministrator);
    throw new Failure(forAdministrator ? 'There is nothing else to undo.' : 'There is nothing to undo.');
  }
  context.say([`${newest.label}, of ${newest.at}:`, ...steps.map(step => `  ${step}`)].join('\n'));
  if (options.yes !== true && !(await confirm(context, 'Undo this?')))
    throw new Failure('Nothing was changed.', { hint: 'Without a terminal, confirm with --yes.' });
  const world = await worldFor(context, false);
  const done = newest.administrator
    ? await runAsRoot(['undo'], world.tools)
    : await carryOut(async () => undoLast(hands(context, world)));
  show(context, { ok: true, done, administrator }, () =>
    [...done.map(line => `✓ ${line}`), ...(forAdministrator ? [forAdministrator] : [])].join('\n'),
  );
  return EXIT.ok;
};

/** Describes how an administrator undoes steps; listed while an administrator may have run them. */
function describeHandedOver({ label, at, shell }: Pick<HandedOver, 'label' | 'at' | 'shell'>): string[] {
  return [`If an administrator did this (${label}, printed ${at}), undo it with:`, ...shell.map(line => `  ${line}`)];
}

function hands({ client, paths }: Context, { tools }: World): FixContext {
  return {
    tools,
    journal: undoJournal(paths),
    runAction: (action, value) => client.call('POST /api/action', { body: actionRequest(action, value) }),
  };
}

async function carryOut<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'privileged')) throw error;
    // a hint is one line, and the administrator's commands were shown with the fix
    throw new Failure(error.message, { cause: error, hint: 'The lines above are for an administrator.' });
  }
}

/** Lists every check with its id. */
export const doctorList: Run = async context => {
  const checks = CHECKS.map(({ id, title, group, source }) => ({ id, title, group, source }));
  const rows = checks.map(({ id, title }) => [id, title]);
  show(context, { checks }, () => columns(rows, text => text, context.width));
  return EXIT.ok;
};

const MARK: Record<Verdict, [symbol: string, color: keyof Style]> = {
  problem: ['✗', 'red'],
  unknown: ['?', 'yellow'],
  notice: ['!', 'yellow'],
  ok: ['✓', 'green'],
  'not-applicable': ['-', 'dim'],
};

const GROUPS: Record<CheckGroup, string> = {
  tunnel: 'Tunnel',
  dns: 'DNS',
  network: 'Network',
  service: 'WARP service',
  culvert: 'Culvert',
  desktop: 'Desktop',
};

/** @param verbose also lists checks that passed or do not apply, and the sources */
export function describeResults(results: readonly CheckResult[], style: Style, verbose: boolean): string {
  const wrong = results.filter(({ verdict }) => verdict !== 'ok' && verdict !== 'not-applicable');
  const blocks = [wrong.map(result => describeResult(result, style, verbose)).join('\n')];
  const well = results.filter(({ verdict }) => verdict === 'ok');
  if (well.length > 0) blocks.push(describeGroups(well, style));
  const rest = results.filter(({ verdict }) => verdict === 'not-applicable');
  if (verbose && rest.length > 0) blocks.push(rest.map(result => describeResult(result, style, false)).join('\n'));
  else if (rest.length > 0)
    blocks.push(
      style.dim(
        `${rest.length === 1 ? '1 check does' : `${rest.length} checks do`} not apply here; --verbose lists them.`,
      ),
    );
  return blocks.filter(Boolean).join('\n\n');
}

function describeGroups(results: readonly CheckResult[], style: Style): string {
  const groups = (Object.keys(GROUPS) as CheckGroup[]).flatMap(group => {
    const lines = results.filter(result => result.group === group).map(result => describeResult(result, style, false));
    return lines.length > 0 ? [`${style.bold(GROUPS[group])}\n${lines.join('\n')}`] : [];
  });
  return groups.join('\n\n');
}

function describeResult(result: CheckResult, style: Style, verbose: boolean): string {
  const { id, title, verdict, evidence, explanation, fix, source, appliesTo, durationMs } = result;
  const [symbol, color] = MARK[verdict];
  const [first = '', ...more] = evidence.map(printable);
  const head = `${style[color](symbol)} ${style.bold(title)}: ${first}`;
  const lines = more.map(line => `    ${line}`);
  if (explanation && verdict !== 'ok') lines.push(`  ${printable(explanation)}`);
  if (fix && verdict !== 'ok') lines.push(indent(describeFix(withoutText(fix), style)), ...applyLine(id, fix, style));
  if (verbose) {
    if (source) lines.push(style.dim(`  Source: ${source}`));
    if (appliesTo) lines.push(style.dim(`  Applies to: ${appliesTo}`));
    lines.push(style.dim(`  ${id}, ${durationMs} ms`));
  }
  return [head, ...lines].join('\n');
}

function applyLine(id: string, fix: Fix, style: Style): string[] {
  const able = canApply(fix) || (repairWords(fix) !== null && repairProgram() !== null);
  return fix.kind !== 'open' && able ? [style.dim(`  Apply it with: culvert doctor fix ${id}`)] : [];
}

/** Describes a fix for the user before it is applied. */
function describeFix(fix: Fix, style: Style): string {
  const title = style.bold(`${printable(fix.label)}:`);
  if (fix.kind === 'open') return `${title} ${fix.url}`;
  if (fix.kind === 'action')
    return [
      title,
      ...fixText(fix)
        .split('\n')
        .map(line => `  ${unbroken(line)}`),
    ].join('\n');
  const lines = fix.kind === 'file' ? [diffText(fix.diff, style)] : [];
  if (fix.kind === 'commands' || !canApply(fix)) {
    if (fix.kind === 'file') lines.push('As an administrator:');
    lines.push(...adminLines(fix).map(line => `  ${unbroken(line)}`));
    const undo = canApply(fix) ? [] : adminUndoLines(fix);
    if (undo.length > 0) lines.push('To undo it:', ...undo.map(line => `  ${unbroken(line)}`));
  }
  return [title, ...lines].join('\n');
}

/** Returns a patch in color, indented. */
export function diffText(diff: string, style: Style): string {
  return diff
    .split('\n')
    .filter(line => line !== '' && !/^(Index:|={10})/.test(line))
    .map(line => {
      const text = `  ${line[0] === '+' || line[0] === '-' ? line[0] : ' '}${printable(line.slice(1))}`;
      return line[0] === '+' ? style.green(text) : line[0] === '-' ? style.red(text) : text;
    })
    .join('\n');
}

function indent(text: string): string {
  return text
    .split('\n')
    .map(line => `  ${line}`)
    .join('\n');
}

/**
 * Runs `culvert-repair` as root; it prints its own output.
 * @param argv arguments of `culvert-repair`
 * @param program path of `culvert-repair`, or null
 * @returns a line with the command @throws Failure
 */
export async function runAsRoot(
  argv: readonly string[],
  tools: Pick<Tools, 'has'>,
  program: string | null = repairProgram(),
): Promise<string[]> {
  if (!program) throw new Failure('Only an administrator can do this, and culvert-repair is not installed.');
  const asker = ['sudo', 'pkexec'].find(tools.has);
  if (!asker)
    throw new Failure('Neither sudo nor pkexec is installed.', { hint: `Run as root: ${quote([program, ...argv])}` });
  const command = [asker, program, ...argv] as const;
  const child = spawn(command[0], command.slice(1), { stdio: ['inherit', 2, 'inherit'] });
  const code = await once(child, 'exit').then(
    ([status]) => status as number | null,
    () => null,
  );
  if (code === REPAIR_FAILED) throw new Failure('The repair failed. The line above says why.');
  if (code !== 0)
    throw new Failure('Not allowed, so nothing was changed.', { hint: `It would have run: ${quote(command)}` });
  return [quote(command)];
}
