// Says where the entries of a list come from.
import { type RouteOrigin, RoutePreset } from '../api/routes.ts';
import { DEFAULT_ROUTES } from '../view/routes/default-routes.ts';

const DEFAULTS = new Set(DEFAULT_ROUTES);

/** Start of the comment of an entry that a preset added: `docker, docker0`. */
const OF_PRESET = new RegExp(`^(${RoutePreset.options.join('|')})(,|$)`);

/**
 * Origin of an entry of the list.
 * @param value canonical, as `canonical` makes it
 * @param managed an organization manages this device, and with it the list
 * @param comment of the entry in the document that was set
 */
export function originOf(value: string, managed: boolean | null, comment: string | null = null): RouteOrigin {
  if (managed) return 'policy';
  if (DEFAULTS.has(value)) return 'default';
  return comment !== null && OF_PRESET.test(comment) ? 'preset' : 'user';
}
