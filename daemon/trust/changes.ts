// Plans, makes and undoes the changes that let one tool trust the organization's certificates.
import type { TrustChange } from '../api/trust.ts';
import type { Message } from '../api/values.ts';
import { BUNDLES } from '../core/ca-certificates.ts';
import { message } from '../view/message.ts';
import { bundleFile, extraFile, type SystemList } from './certificates.ts';
import { environmentDiffs, type Session, variablesOf } from './environment.ts';
import { changeFile, diffOf, type FileChange, type Journal, type OpenJournal, textOf, undoFile } from './journal.ts';
import { changeNss, nssDiff, renewNss, undoNss } from './nss.ts';
import { type List, type ListName, shownPath, valueIn, type Wanted, withLine } from './tools/tool.ts';

export interface Planning {
  /** The organization's valid certificates. */
  certificates: readonly { fingerprint: string; pem: string }[];
  session: Session;
  journal: Journal;
  system: SystemList | null;
  /** The directory of Culvert's lists. */
  directory: string;
}

export type Plan = { changes: TrustChange[] } | { occupied: Message };

const listPath = (directory: string, list: ListName) =>
  list === 'extra' ? extraFile(directory) : bundleFile(directory);

/**
 * Returns the difference that a change would make, or `occupied` if the user has set another value, which Culvert keeps.
 * @param list the list that the tool reads now
 */
export function planChange(wanted: Wanted, list: List, planning: Planning): Plan {
  const { session, journal, directory, certificates } = planning;
  if (wanted.kind === 'nss')
    return { changes: wanted.directories.map(target => ({ target, diff: nssDiff(target, certificates) })) };
  const path = listPath(directory, wanted.list);
  if (wanted.kind === 'variable') {
    const variables = variablesOf(journal);
    const value = variables[wanted.name] ?? session.env[wanted.name];
    if (value && value !== path)
      return { occupied: message('%s is set to %s, which Culvert does not replace.', wanted.name, shownPath(value)) };
    return { changes: environmentDiffs(session, { ...variables, [wanted.name]: path }) };
  }
  const text = textOf(wanted.path) ?? '';
  const value = valueIn(text, wanted);
  if (value !== null && value !== path)
    return {
      occupied: message(
        '%s is set to %s, which Culvert does not replace.',
        `${wanted.key} (${wanted.path})`,
        shownPath(value),
      ),
    };
  if (value !== null) return { changes: [] };
  // a variable, or a file that this file includes, may set the list
  const replaceable = [planning.system?.path, ...BUNDLES, bundleFile(directory), extraFile(directory)];
  const other = list.ownList ? undefined : list.files.find(file => !replaceable.includes(file));
  if (other) return { occupied: message('It is set to read %s, which Culvert does not replace.', shownPath(other)) };
  return { changes: [{ target: wanted.path, diff: diffOf(settingChange(wanted, path)) }] };
}

type Setting = Extract<Wanted, { kind: 'setting' }>;

function settingChange(wanted: Setting, path: string): FileChange {
  return { path: wanted.path, content: withLine(textOf(wanted.path) ?? '', wanted, wanted.line(path)) };
}

/** Makes the change, but only records a variable for `applyEnvironment`. @returns a line for each change */
export function makeChange(
  id: string,
  wanted: Wanted,
  open: OpenJournal,
  { directory, certificates }: Pick<Planning, 'directory' | 'certificates'>,
): string[] {
  const { tools } = open.journal;
  tools[id] ??= [];
  const steps = tools[id];
  if (wanted.kind === 'nss')
    return wanted.directories.map(each => {
      changeNss(each, certificates, { open, remember: step => steps.push(step) });
      return `added the certificate to ${each}`;
    });
  const path = listPath(directory, wanted.list);
  if (wanted.kind === 'variable') {
    steps.push({ kind: 'variable', name: wanted.name, value: path });
    open.save();
    return [`set ${wanted.name}`];
  }
  changeFile(settingChange(wanted, path), open, step => steps.push(step));
  return [`wrote ${wanted.path}`];
}

/** Updates changed stores to the certificates that are valid now. */
export function renewStores(open: OpenJournal, certificates: Planning['certificates']): void {
  for (const step of Object.values(open.journal.tools).flat())
    if (step.kind === 'nss') renewNss(step, certificates, open);
}

/** Undoes the changes of one tool; the next `applyEnvironment` removes variables. @throws Failure `changed` */
export function undoChange(id: string, open: OpenJournal): string[] {
  const { tools } = open.journal;
  const done: string[] = [];
  for (const step of (tools[id] ?? []).toReversed()) {
    const line = step.kind === 'file' ? undoFile(step, open) : step.kind === 'nss' ? undoNss(step, open) : null;
    if (line) done.push(line);
    if (step.kind === 'variable') done.push(`unset ${step.name}`);
    tools[id] = (tools[id] ?? []).filter(each => each !== step);
    open.save();
  }
  delete tools[id];
  open.save();
  return done;
}
