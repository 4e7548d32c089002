// Removes known credentials from output (the daemon looks for unknown secrets instead), and prevents core dumps.
import { errno } from '../../daemon/core/errors.ts';
import { failureOf, runHelper } from '../../daemon/core/run-helper.ts';
import { say } from './errors.ts';

/** Minimum length to redact; shorter texts occur in ordinary words. */
const SHORTEST = 4;

/** Returns the forms in which programs print a credential: plain, JSON (PHP escapes slashes), percent-encoded, and Base64. */
export function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const encoded = encodeURIComponent(secret);
  const base64 = inBase64(secret);
  const forms = [
    secret,
    json,
    json.replaceAll('/', '\\/'),
    encoded,
    encoded.replace(/%../g, code => code.toLowerCase()),
    ...base64,
    ...base64.map(text => text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')),
  ];
  return [...new Set(forms)].filter(form => form === secret || form.length >= SHORTEST);
}

/** Encodes a secret alone and, as in `Authorization: Basic`, after other bytes, without the ends that depend on them. */
function inBase64(secret: string): string[] {
  const behind = (before: string) => Buffer.from(before + secret).toString('base64');
  return [
    behind(''),
    ...['', '.', '..'].map((before, at) =>
      behind(before)
        .slice(at && 4)
        .replace(/.=+$/, ''),
    ),
  ];
}

/** Replaces credentials in a text with `***`. */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets
    .filter(secret => secret.length >= SHORTEST)
    .flatMap(formsOf)
    .reduce((rest, form) => rest.replaceAll(form, '***'), text);
}

const PRLIMIT_MS = 5_000;

/**
 * Prevents core dumps of this process and of programs that it starts later. Runs `prlimit` of util-linux, if installed, because
 * Node can't set limits. Linux ignores a limit of zero if dumps go to a program, but not one byte (`do_coredump`).
 * @returns the problem, if it failed
 */
export async function limitCoreDumps(): Promise<string | undefined> {
  const result = await runHelper(['prlimit', `--pid=${process.pid}`, '--core=1:1'], { timeoutMs: PRLIMIT_MS });
  if (result.error) return errno(result.error) === 'ENOENT' ? 'prlimit is not installed' : result.error.message;
  return result.exit === 0 ? undefined : `prlimit ${failureOf(result)}`;
}

/** Prevents core dumps, and warns on stderr if that fails. */
export async function preventCoreDumps(): Promise<void> {
  const problem = await limitCoreDumps();
  if (problem !== undefined) say(`a core dump of this process would hold keys: ${problem}`);
}
