// Checks values that came from a file or over the network, where loading zod would make a command wait.

type Check<T> = (value: unknown) => value is T;

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

/** JSON can hold numbers that are too large for JavaScript, which reads them as infinite. */
export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

export function isAmount(value: unknown): value is number {
  return isNumber(value) && value >= 0;
}

/** Milliseconds since the epoch that a `Date` can hold. */
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

/** An object with these fields; it may have others. */
export function shape<T extends object>(fields: { [Key in keyof T]-?: Check<T[Key]> }): Check<T> {
  const checks = Object.entries<Check<unknown>>(fields);
  return (value): value is T => isRecord(value) && checks.every(([key, is]) => is(value[key]));
}
