// Reads and checks values from a file or the network, for commands that would be slow if they loaded zod.

/** Returns the value of a JSON text; null for any other text. */
export function parseJson(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
}

/** Returns true for a regular expression that the engine accepts. */
export function isPattern(text: string, flags = ''): boolean {
  try {
    new RegExp(text, flags);
    return true;
  } catch {
    return false;
  }
}

export type Check<T> = (value: unknown) => value is T;
/** The values that a check accepts. */
export type Checked<C> = C extends Check<infer T> ? T : never;

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

/** Rejects infinity, which JavaScript reads for a JSON number that is too large. */
export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

export function isAmount(value: unknown): value is number {
  return isNumber(value) && value >= 0;
}

/** Returns true for milliseconds since the epoch that a `Date` can hold. */
export function isTime(value: unknown): value is number {
  return isNumber(value) && Math.abs(value) <= 8.64e15;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function optional<T>(is: Check<T>): Check<T | undefined> {
  return (value): value is T | undefined => value === undefined || is(value);
}

export function nullable<T>(is: Check<T>): Check<T | null> {
  return (value): value is T | null => value === null || is(value);
}

export function oneOf<T extends string>(...names: readonly T[]): Check<T> {
  return (value): value is T => names.some(name => name === value);
}

export function listOf<T>(is: Check<T>): Check<T[]> {
  return (value): value is T[] => Array.isArray(value) && value.every(is);
}

/** Checks for an object with values of one kind. */
export function recordOf<T>(is: Check<T>): Check<Record<string, T>> {
  return (value): value is Record<string, T> => isRecord(value) && Object.values(value).every(is);
}

/** Checks for an object with these fields, or more. A field may be missing if its check accepts `undefined`. */
export function shape<F extends Record<string, Check<unknown>>>(fields: F): Check<Shape<F>> {
  const checks = Object.entries(fields);
  return (value): value is Shape<F> => isRecord(value) && checks.every(([key, is]) => is(value[key]));
}

type Shape<F> = { [K in keyof F as undefined extends Checked<F[K]> ? never : K]: Checked<F[K]> } & {
  [K in keyof F as undefined extends Checked<F[K]> ? K : never]?: Checked<F[K]>;
};
