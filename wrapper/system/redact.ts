// Keeps credentials out of texts that other programs wrote, and out of core dumps.
import { errno } from '../../daemon/core/errors.ts';
import { failureOf, runHelper } from '../../daemon/core/run-helper.ts';
import { say } from './errors.ts';

/** Shorter ones would be found in ordinary words. */
const SHORTEST = 4;

/** The forms in which programs repeat a credential: as it is, as JSON (PHP escapes slashes), in an address, and in Base64. */
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

/** Whole, and behind a name as in `Authorization: Basic`: without the ends, which depend on the neighboring bytes. */
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

/** The text with `***` in place of these credentials. */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets
    .filter(secret => secret.length >= SHORTEST)
    .flatMap(formsOf)
    .reduce((rest, form) => rest.replaceAll(form, '***'), text);
}

const PRLIMIT_MS = 5_000;

/**
 * Has the kernel write no core dump of this process, nor of programs that it starts later. Node can't set a limit, so `prlimit` of
 * util-linux does, where it is installed. Zero would not count where dumps go to a program; one byte does (`do_coredump` of Linux).
 * @returns why that failed
 */
export async function limitCoreDumps(): Promise<string | undefined> {
  const result = await runHelper(['prlimit', `--pid=${process.pid}`, '--core=1:1'], { timeoutMs: PRLIMIT_MS });
  if (result.error) return errno(result.error) === 'ENOENT' ? 'prlimit is not installed' : result.error.message;
  return result.exit === 0 ? undefined : `prlimit ${failureOf(result)}`;
}

/** The same, for a process that says so when it fails. */
export async function preventCoreDumps(): Promise<void> {
  const problem = await limitCoreDumps();
  if (problem !== undefined) say(`a core dump of this process would hold keys: ${problem}`);
}
