// Turns an Exec key into arguments, with its field codes expanded, and back. No shell ever sees any of it.
import { message, WordedError } from '../view/message.ts';

/** Why a command line is invalid; `message` is a sentence about it. */
export class ExecError extends WordedError {
  override readonly code = 'EEXEC';
}

/**
 * Splits a command line into arguments. Quotes are read as GLib reads them, which is more than the specification allows
 * and what existing files need (`env X="a b" program`, single quotes); nothing is substituted.
 * @param line the value of Exec, string escapes resolved
 * @throws ExecError for an open quote, or nothing at all
 */
export function splitExec(line: string): string[] {
  const args: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const c = line[at]!;
    if (/[ \t\n\r]/.test(c)) {
      if (word !== null) args.push(word);
      word = null;
      continue;
    }
    word ??= '';
    if (c === "'") {
      const end = line.indexOf("'", at + 1);
      if (end === -1) throw new ExecError(message('Its command line has a quote that is never closed.'));
      word += line.slice(at + 1, end);
      at = end;
    } else if (c === '"') {
      for (at++; line[at] !== '"'; at++) {
        if (at >= line.length) throw new ExecError(message('Its command line has a quote that is never closed.'));
        if (line[at] === '\\' && '"`$\\'.includes(line[at + 1] ?? ' ')) at++;
        word += line[at];
      }
    } else if (c === '\\') {
      at++;
      if (at >= line.length) throw new ExecError(message('Its command line ends in a backslash.'));
      word += line[at];
    } else word += c;
  }
  if (word !== null) args.push(word);
  if (args.length === 0 || args[0] === '') throw new ExecError(message('Its command line is empty.'));
  return args;
}

export interface Fields {
  name: string;
  icon: string | null;
  /** Path of the desktop file. */
  file: string;
}

/**
 * Expands field codes inside the arguments, whose number and borders no value can change. No files or addresses are
 * passed, so their codes vanish, and an argument that was nothing else with them.
 * @throws ExecError for a code that the specification does not know, which makes a command line invalid
 */
export function expandFields(args: readonly string[], { name, icon, file }: Fields): string[] {
  return args.flatMap(arg => {
    if (arg === '%i') return icon ? ['--icon', icon] : [];
    if (/^%[fFuUdDnNvm]$/.test(arg)) return [];
    return [
      arg.replace(/%(.?)/gs, (_, code: string) => {
        if (code === '%') return '%';
        if (code === 'c') return name;
        if (code === 'k') return file;
        if (code !== '' && 'fFuUidDnNvm'.includes(code)) return '';
        throw new ExecError(message('Its command line has the unknown field code %s.', `%${code}`));
      }),
    ];
  });
}

/** Arguments as the value of an Exec key, by the specification's own rules: quotes inside, string escapes outside. */
export function joinExec(args: readonly string[]): string {
  return args
    .map(arg => {
      const doubled = arg.replaceAll('%', '%%');
      if (doubled !== '' && !/[\s"'\\><~|&;$*?#()`]/.test(doubled)) return doubled;
      return `"${doubled.replace(/["`$\\]/g, '\\$&')}"`;
    })
    .join(' ');
}

/** Position of the program proper in a command line, and its packaging. */
export interface Located {
  /** Index of the program, or for Flatpak of the app's id: what is meant for the program goes behind it. */
  at: number;
  packaging: 'native' | 'flatpak' | 'snap';
  /** Base name, Flatpak's app id, or the snap's name; null if a shell or launcher hides it. */
  program: string | null;
}

/** Looks behind `env`, `flatpak run` and `snap run`. */
export function locateProgram(args: readonly string[]): Located {
  let at = 0;
  if (baseName(args[0]!) === 'env') {
    at = 1;
    while (at < args.length && /^(-|[A-Za-z_]\w*=)/.test(args[at]!)) at += /^-[uCS]$/.test(args[at]!) ? 2 : 1;
  }
  const name = baseName(args[at] ?? '');
  if (name === 'flatpak' && args[at + 1] === 'run') {
    at += 2;
    while (at < args.length && args[at]!.startsWith('-')) at++;
    return { at, packaging: 'flatpak', program: args[at]?.split('/')[0] ?? null };
  }
  if (name === 'snap' && args[at + 1] === 'run') {
    at += 2;
    while (at < args.length && args[at]!.startsWith('-')) at++;
    return { at, packaging: 'snap', program: args[at] ?? null };
  }
  if (SNAP_DIRECTORIES.has(directory(args[at] ?? ''))) return { at, packaging: 'snap', program: name };
  if (at >= args.length || HIDING.has(name))
    return { at: Math.min(at, args.length - 1), packaging: 'native', program: null };
  return { at, packaging: 'native', program: name };
}

/** Programs that start another one, directly or through a service: their command line does not show the app. */
const HIDING = new Set(
  'sh bash dash zsh fish ksh gapplication gtk-launch gio xdg-open kioclient kioclient5 dbus-send gdbus busctl systemctl systemd-run pkexec sudo su nohup setsid flatpak snap'.split(
    ' ',
  ),
);

const SNAP_DIRECTORIES = new Set(['/snap/bin', '/var/lib/snapd/snap/bin']);

const directory = (path: string) => path.slice(0, path.lastIndexOf('/'));
const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1);
