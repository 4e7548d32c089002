// Parses the text of a state file: it has every part of an initial state, each of the same kind.
import { initialState } from './initial-state.ts';
import type { State } from './state.ts';

/** Parts that are null at other times. */
const NULLABLE = ['registration', 'license', 'v4_iface'];
/** Parts that are text or an object: `Ethernet`, `{"WiFi": {"ssid": …}}`. */
const MIXED = ['kind'];

/** null for anything but a state of this format. */
export function parseState(text: string): State | null {
  try {
    const value: unknown = JSON.parse(text);
    return isState(value) ? value : null;
  } catch {
    return null;
  }
}

function isState(value: unknown): value is State {
  const model = initialState(0);
  return fits(value, model) && (value as State).format === model.format;
}

function fits(value: unknown, model: unknown): boolean {
  if (model === null) return value !== undefined;
  if (Array.isArray(model)) return Array.isArray(value);
  if (typeof model !== 'object') return typeof value === typeof model;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(model).every(([key, part]) => {
    const field = Reflect.get(value, key);
    if (MIXED.includes(key)) return field !== undefined;
    return (field === null && NULLABLE.includes(key)) || fits(field, part);
  });
}
