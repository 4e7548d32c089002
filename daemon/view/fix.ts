// Formats a fix of the doctor as lines to read before the user applies it.
import type { Fix } from '../api/doctor.ts';

/** Paths of the program that repairs as root, from packages and a system-wide build. */
export const REPAIR_PROGRAMS = [
  '/usr/lib/culvert-repair/culvert-repair',
  '/usr/local/lib/culvert-repair/culvert-repair',
] as const;

/** Returns the arguments for the repair program, or null if it can't make the change. */
export function repairWords(fix: Fix): readonly string[] | null {
  return ('repair' in fix && fix.repair) || null;
}

/** Returns the lines of the change: the difference of a file, shell commands, or an address. */
export function fixText(fix: Fix): string {
  switch (fix.kind) {
    case 'file':
      return fix.diff
        .split('\n')
        .filter(line => line !== '')
        .join('\n');
    case 'commands':
      return fix.commands.map(quote).join('\n');
    case 'action':
      return fix.actions
        .map(({ action, value }) => quote(['culvert', 'action', action, ...(value ? [value] : [])]))
        .join('\n');
    case 'open':
      return fix.url;
  }
}

/** Returns lines for an administrator to paste into a shell. */
export function adminLines(fix: Fix): string[] {
  if (fix.kind === 'commands') return fix.commands.map(argv => (fix.privileged ? `sudo ${quote(argv)}` : quote(argv)));
  if (fix.kind !== 'file') return [];
  if (fix.content === undefined) return [rootLine('fix', ...(fix.repair ?? []))];
  const lines = fix.diff.includes('/dev/null')
    ? []
    : [`sudo cp -a ${quote([fix.path])} ${quote([`${fix.path}.before-culvert`])}`];
  return [
    ...lines,
    `printf %s ${quote([fix.content])} | sudo tee ${quote([fix.path])} >/dev/null`,
    ...restartLines(fix),
  ];
}

function rootLine(...words: string[]): string {
  return `sudo ${quote([REPAIR_PROGRAMS[0], ...words])}`;
}

function restartLines({ restart }: Extract<Fix, { kind: 'file' }>): string[] {
  return restart ? [`sudo systemctl try-restart ${quote([restart])}`] : [];
}

/** Returns lines that undo an administrator's change. */
export function adminUndoLines(fix: Fix): string[] {
  if (fix.kind === 'commands') return fix.undo.map(argv => (fix.privileged ? `sudo ${quote(argv)}` : quote(argv)));
  if (fix.kind !== 'file') return [];
  if (fix.content === undefined) return [rootLine('undo')];
  const { path } = fix;
  return [
    fix.diff.includes('/dev/null')
      ? `sudo rm ${quote([path])}`
      : `sudo mv -T ${quote([`${path}.before-culvert`])} ${quote([path])}`,
    ...restartLines(fix),
  ];
}

/** Quotes words for a POSIX shell. */
export function quote(argv: readonly string[]): string {
  return argv.map(word => (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(word) ? word : inQuotes(word))).join(' ');
}

/** Puts a word in single quotes for bash, zsh and fish. */
export function inQuotes(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
