// Runs `culvert diagnose`, which writes a bundle to share and reads warp-diag archives, and `culvert explain` for codes.
import { basename } from 'node:path';
import { Unreachable } from '../../../api/client.ts';
import type { CheckResult } from '../../../api/doctor.ts';
import { errno, reason } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../../core/terminal.ts';
import { type Analysis, analyze } from '../../../doctor/diagnose/analyze.ts';
import { readArchive } from '../../../doctor/diagnose/archive.ts';
import { createBundle, describeBundle, readTimeline, writeBundle } from '../../../doctor/diagnose/bundle.ts';
import { undoable } from '../../../doctor/fixes.ts';
import { knowledgeOf, readRegistrationJournal, undoJournal } from '../../../doctor/gather.ts';
import { type Code, explain, type JournalPattern, type Knowledge, sourceLink } from '../../../doctor/knowledge.ts';
import { patternOf } from '../../../doctor/world/journal.ts';
import { wordMessage } from '../../../view/message.ts';
import { generalWords, registrationStep, registrationWords } from '../../../view/states/registration.ts';
import { english } from '../../../view/translator.ts';
import { judgePolicy, POLICY_FILE, readPolicyFile } from '../../../warp/parse/policy-file.ts';
import { chosenConfiguration, NO_EVIDENCE, registrationCause } from '../../../warp/registration.ts';
import { type Context, type Run, show, showDocument } from '../../context.ts';
import { EXIT, Failure, usage } from '../../errors.ts';
import { columns } from '../../layout.ts';
import { describeResults, examine } from './doctor.ts';

export const diagnose: Run = async (context, _, options) => {
  const { out } = options;
  if (typeof out !== 'string')
    throw usage('--out is missing: the file to write.', 'Example: culvert diagnose --out report.zip');
  const { CHECKS } = await import('../../../doctor/checks/all.ts');
  const { world, results } = await examine(context, CHECKS, false);
  const [logs, config, timeline] = await fromDaemon(context);
  const history = undoable(undoJournal(context.paths)).map(({ id, label, at }) => ({ id, label, at }));
  const bundle = await createBundle({ world, results, entries: logs, config, timeline, history });
  context.say(describeBundle(bundle));
  if (options.dryRun === true) {
    showDocument(context, bundle, ({ files }) => files.map(({ name, text }) => `== ${name}\n${text}`).join('\n'));
    return EXIT.ok;
  }
  try {
    await writeBundle(out, bundle);
  } catch (error) {
    if (errno(error) === 'EEXIST')
      throw new Failure(`${out} already exists.`, { hint: 'Remove it, or choose another name.' });
    throw new Failure(`${out} could not be written: ${reason(error)}`, { cause: error });
  }
  const files = bundle.files.map(({ name }) => name);
  show(
    context,
    { ok: true, out, files, redacted: bundle.redacted },
    () => `Wrote ${out}. Check it before you share it.`,
  );
  return EXIT.ok;
};

async function fromDaemon({ client }: Context) {
  try {
    const [logs, config, timeline] = await Promise.all([
      client.call('GET /api/logs'),
      client.call('GET /api/config'),
      readTimeline(query => client.call('GET /api/history', { query })),
    ]);
    return [logs.entries, config, timeline] as const;
  } catch (error) {
    if (error instanceof Unreachable) return [[], null, null] as const;
    throw error;
  }
}

export const diagnoseRead: Run = async (context, [path = '']) => {
  const knowledge = knowledgeOf(context.paths, context.env);
  const archive = await readArchive(path);
  if (archive.files.length === 0) throw new Failure(`${path} has no text files that can be read.`);
  const analysis = await analyze(archive, knowledge);
  show(context, { ...analysis, skipped: archive.skipped }, () =>
    [`${basename(path)}: ${describe(analysis, context.style)}`, ...skippedText(archive.skipped)].join('\n'),
  );
  return EXIT.ok;
};

function describe({ version, files, timeline, codes, causes }: Analysis, style: Style): string {
  const head = `${files} text files, version ${version ?? 'not known'}`;
  return [
    head,
    ...section('Causes', causesText(causes, style), style, 'none of the known causes'),
    ...section('Codes', codesText(codes, style), style, 'none of the known codes'),
    ...section('Timeline', timelineText(timeline, style), style, 'no dated lines'),
  ].join('\n');
}

function section(title: string, lines: string[], style: Style, none: string): string[] {
  return ['', style.bold(title), ...(lines.length > 0 ? lines : [`  ${none}`])];
}

function causesText(causes: readonly CheckResult[], style: Style): string[] {
  // a fix applies to this machine, but the archive is from another machine
  const bare = causes.map(cause => ({ ...cause, fix: null }));
  return bare.length > 0 ? [describeResults(bare, style, false)] : [];
}

function codesText(codes: Analysis['codes'], style: Style): string[] {
  return codes.flatMap(({ code, file, line, count }) => [
    `${style.bold(printable(code.code))}: ${printable(code.title)} (${count} ×, first in ${printable(file)})`,
    `    ${printable(line)}`,
    `  ${printable(code.meaning)}${code.try[1] ? ` Try: ${printable(code.try[1])}` : ''}`,
  ]);
}

function timelineText(timeline: Analysis['timeline'], style: Style): string[] {
  return timeline.map(
    ({ at, text, count }) => `${style.dim(at)}  ${printable(text)}${count > 1 ? style.dim(` (${count} ×)`) : ''}`,
  );
}

function skippedText(skipped: readonly string[]): string[] {
  return skipped.length > 0 ? ['', 'Not read:', ...skipped.map(line => `  ${printable(line)}`)] : [];
}

export const explainCode: Run = async (context, words) => {
  const knowledge = knowledgeOf(context.paths, context.env);
  const { codes, problems } = knowledge;
  for (const problem of problems) context.say(problem);
  if (codes.length === 0) throw new Failure('The file with the codes is missing. Install Culvert again.');
  if (words.length === 0) {
    show(context, { codes }, () =>
      columns(
        codes.map(each => [each.code, worded(each).title]),
        text => text,
        context.width,
      ),
    );
    return EXIT.ok;
  }
  const line = words.join(' ');
  const { explanations, pattern } = explainLine(knowledge, line);
  if (explanations.length === 0 && !pattern)
    throw new Failure(`"${line}" is not known.`, { hint: 'List all codes with: culvert explain' });
  const here = explanations.some(({ cause }) => cause) ? await causeHere(context, line) : null;
  const document = { codes: explanations, ...(pattern && { journal: pattern }), ...(here && { here }) };
  show(context, document, () =>
    [
      ...(explanations.length > 0 ? [describeCodes(explanations, context)] : []),
      ...(pattern ? [describePattern(pattern, explanations.length > 0, context.style)] : []),
      ...(here ? [describeHere(here, context.style)] : []),
    ].join('\n\n'),
  );
  return EXIT.ok;
};

/** Finds the line in the codes, and in the table of the journal, whose entry may name one more code. */
function explainLine(knowledge: Knowledge, line: string): { explanations: Code[]; pattern: JournalPattern | null } {
  const found = explain(knowledge.codes, line);
  // a typed line does not say in which state it was printed
  const pattern = patternOf(
    line,
    knowledge.patterns.filter(({ when }) => when === undefined),
  );
  const named = knowledge.codes.filter(({ code }) => code === pattern?.code);
  return { explanations: [...new Set([...found, ...named])], pattern };
}

/** Words of registration causes are those of every other client. */
function worded(code: Code): Pick<Code, 'title' | 'meaning'> {
  if (!code.cause) return code;
  const { title, sentence } = generalWords(code.cause, english);
  return { title, meaning: `${sentence} ${code.meaning}` };
}

interface Here {
  code: string;
  title: string;
  sentence: string;
  evidence: string[];
  /** Command of the next step, and what it does. */
  next: string;
  does: string;
}

/**
 * Returns why this device is not registered, if a policy file or the journal here says more than the words that were typed.
 * @param line words of the tunnel CLI, which count as its reason
 */
async function causeHere({ client, env, paths, signal }: Context, line: string): Promise<Here | null> {
  // without a daemon, the version and the configuration in use are not known
  const snapshot = await client.call('GET /api/snapshot').catch(() => null);
  const version = snapshot?.tunnelCli.version ?? null;
  const policy = judgePolicy(readPolicyFile(POLICY_FILE), 0, version);
  const journal = await readRegistrationJournal({ env, paths, snapshot, signal });
  if (!policy.managed && policy.faults.length === 0 && !journal) return null;
  const status = { blocked: 'not-registered' as const, reason: { code: null, text: line }, raw: null };
  const cause = registrationCause({
    ...NO_EVIDENCE,
    status,
    policy,
    chosen: snapshot && chosenConfiguration(snapshot.settings),
    version,
    journal,
    attempt: line,
  });
  if (!cause) return null;
  const { title, sentence } = registrationWords(cause, english);
  const { does, command } = registrationStep(cause);
  return {
    code: cause.code,
    title,
    sentence,
    // the line counts as the reason and as the output of an attempt
    evidence: [...new Set(cause.evidence.map(each => wordMessage(each, english)))],
    does,
    next: command,
  };
}

function describeHere({ title, sentence, evidence, next, does }: Here, style: Style): string {
  const lines = evidence.map(each => `  ${printable(each)}`);
  return [style.bold('If this device is not registered'), `${title}. ${sentence}`, ...lines, `${does}: ${next}`].join(
    '\n',
  );
}

/** @param isAlso true after the codes of the same line, which the tunnel CLI may have printed */
function describePattern({ id, meaning, source, date }: JournalPattern, isAlso: boolean, style: Style): string {
  return [
    `${style.bold(printable(id))}: ${isAlso ? 'also ' : ''}seen in the journal of WARP’s service`,
    printable(meaning),
    style.dim(`Seen in: ${printable(source)} (${date})`),
  ].join('\n');
}

/** Describes up to three codes in full; of more codes, prints only names and titles. */
function describeCodes(codes: readonly Code[], { style }: Context): string {
  if (codes.length <= 3) return codes.map(code => describeCode(code, style)).join('\n\n');
  return codes.map(each => `${style.bold(printable(each.code))}: ${printable(worded(each).title)}`).join('\n');
}

function describeCode(entry: Code, style: Style): string {
  const { code, also, causes, try: steps, check, source } = entry;
  const { title, meaning } = worded(entry);
  const list = (head: string, lines: readonly string[], mark: (at: number) => string) =>
    lines.length > 0 ? [head, ...lines.map((line, at) => `  ${mark(at)} ${printable(line)}`)] : [];
  const link = sourceLink(source);
  return [
    `${style.bold(printable(code))}: ${printable(title)}`,
    ...(also.length > 0 ? [style.dim(`Also shown as: ${also.map(printable).join(', ')}`)] : []),
    printable(meaning),
    ...list('Likely causes:', causes, at => `${at + 1}.`),
    ...list('What to try:', steps, at => `${at + 1}.`),
    ...(check && check !== 'none' ? [`How to check: ${printable(check)}`] : []),
    ...(link ? [style.dim(`Source: ${link}`)] : []),
  ].join('\n');
}
