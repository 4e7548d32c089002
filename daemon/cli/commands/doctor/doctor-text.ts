// Results of the doctor as text: problems first, grouped, a line for each piece of evidence, and the fix.
import type { CheckGroup, CheckResult, Fix, Verdict } from '../../../api/doctor.ts';
import { withoutText } from '../../../doctor/file-fix.ts';
import { repairProgram } from '../../../doctor/fix-journal.ts';
import { canApply } from '../../../doctor/fixes.ts';
import { printable } from '../../../system/printable.ts';
import type { Style } from '../../../system/terminal.ts';
import { adminLines, adminUndoLines, fixText, repairWords } from '../../../view/fix.ts';
import { unbroken } from '../../terminal/fit.ts';

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

/** @param verbose also what is well, what does not apply, and the sources */
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

/** A fix as a person is shown it before it is applied. */
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

/** A patch in colors, indented. */
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
