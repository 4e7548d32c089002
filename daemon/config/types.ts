// Checks values of the configuration by the contract; imported only for values that `isSwitch` can't judge.
import * as z from 'zod/mini';
import { Config } from '../api/config.ts';

/** The type of each dotted key, from the contract. */
const TYPES: Record<string, z.ZodMiniType> = Object.fromEntries(
  Object.entries(Config.shape).flatMap(([group, { shape }]) =>
    Object.entries(shape).map(([key, type]) => [`${group}.${key}`, type]),
  ),
);

/** Returns true if a key exists and accepts this value. */
export function accepts(key: string, value: unknown): boolean {
  return Object.hasOwn(TYPES, key) && z.safeParse(TYPES[key]!, value).success;
}

/** Describes the values that a key accepts. */
export function expected(key: string): string {
  const { type, enum: values, anyOf, minimum, maximum } = z.toJSONSchema(TYPES[key]!) as Record<string, unknown>;
  if (values) return `one of ${(values as string[]).join(', ')}`;
  if (anyOf) return 'an IP address';
  if (type === 'integer') return `a whole number from ${minimum} to ${maximum}`;
  return type === 'boolean' ? 'true or false' : 'text';
}
