// Parses and formats durations, and expands the variables and home paths of the catalog and the configuration.

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Pattern of a duration that `parseDuration` accepts. */
export const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/**
 * Parses a duration such as `500ms`, `60s`, `15m`, `1h` or `30d` into milliseconds.
 * @throws RangeError for anything else
 */
export function parseDuration(text: string): number {
  const match = DURATION.exec(text);
  if (!match)
    throw new RangeError(`${JSON.stringify(text)} is not a duration; write for example 500ms, 60s, 15m, 1h or 30d`);
  return Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
}

/** Formats a duration for the user: `45 s`, `12 min`, `3 h`, `2 d`. */
export function formatDuration(ms: number): string {
  if (ms < 90_000) return `${Math.max(1, Math.round(ms / 1_000))} s`;
  if (ms < 90 * 60_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 36 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

/** Reports whether a variable such as `CULVERT_WRAP_BYPASS` is on: set, and not `0`, `no`, `off` or `false`. */
export function isOn(value: string | undefined): boolean {
  return !/^(?:0|no|off|false)?$/.test(value ?? '');
}

/** Replaces `{NAME}` and `{NAME:default}` with values of the environment. */
export function expandVariables(template: string, env: NodeJS.ProcessEnv): string {
  return template.replace(
    /\{(\w+)(?::([^}]*))?\}/g,
    (_, name: string, fallback?: string) => env[name] || fallback || '',
  );
}

/** Replaces `~/` at the start of a path with the home directory. */
export function expandHome(file: string, { HOME = '~' }: NodeJS.ProcessEnv): string {
  return file.replace(/^~(?=\/)/, () => HOME);
}
