// Defines the settings file in the contract: tunnel settings, routes and Culvert's own configuration as TOML.
import * as z from 'zod/mini';
import { ConfirmWithin } from './changes.ts';
import { type EndpointTable, routesProblems, tunnelProblems } from './endpoint.ts';
import { MAX_DOCUMENT } from './requests.ts';
import { StalePart } from './tunnel.ts';
import { Message } from './values.ts';

const Toml = z.string().check(z.maxLength(MAX_DOCUMENT));
/** `wording` is `reason` in translatable form; absent in older versions. */
const Reason = z.object({ key: z.string(), reason: z.string(), wording: z.optional(Message) });

/** A settings file, without secrets and registration. It lacks the `stale` parts, which could not be read again. */
export const SettingsExport = z.object({
  ok: z.literal(true),
  toml: z.string(),
  stale: z.optional(z.array(StalePart)),
});
export type SettingsExport = z.infer<typeof SettingsExport>;

export const SettingsDiffRequest = z.strictObject({ toml: Toml });
export type SettingsDiffRequest = z.infer<typeof SettingsDiffRequest>;
export const SettingsDiff = z.object({
  ok: z.literal(true),
  /** Changes in readable form; null if nothing was set. */
  changes: z.array(z.object({ key: z.string(), from: z.nullable(z.string()), to: z.nullable(z.string()) })),
  /** Keys left out because this machine or tunnel CLI version doesn't support them. */
  skipped: z.array(Reason),
  /** Invalid keys. A file with invalid keys is not applied. */
  invalid: z.array(Reason),
  /** Set if a demo exported the file and this daemon runs no demo: applying it needs `allowDemo`. Absent otherwise. */
  fromDemo: z.optional(z.boolean()),
});
export type SettingsDiff = z.infer<typeof SettingsDiff>;

export const SettingsApplyRequest = z.strictObject({
  toml: Toml,
  /** Seconds to confirm tunnel settings and routes; Culvert's own configuration needs no confirmation. */
  confirmWithin: z.optional(ConfirmWithin),
  /** Allows a file that was exported from a demo. */
  allowDemo: z.optional(z.boolean()),
});
export type SettingsApplyRequest = z.infer<typeof SettingsApplyRequest>;
export const SettingsUndoRequest = z.strictObject({ confirmWithin: z.optional(ConfirmWithin) });
export type SettingsUndoRequest = z.infer<typeof SettingsUndoRequest>;

export const settingsEndpoints = {
  'GET /api/settings/export': {
    summary: "The tunnel's settings, routes and Culvert's own configuration as TOML, without secrets",
    response: SettingsExport,
  },
  'POST /api/settings/diff': {
    summary: 'Preview a settings file: its changes, and what this machine or version lacks; changes nothing',
    body: SettingsDiffRequest,
    response: SettingsDiff,
    problems: ['routes-failed', ...tunnelProblems],
  },
  'POST /api/settings/apply': {
    summary: 'Apply a settings file completely or not at all; skips what this machine or version lacks',
    body: SettingsApplyRequest,
    response: SettingsDiff,
    problems: ['key-not-settable', 'config-broken', ...routesProblems],
  },
  'POST /api/settings/undo': {
    summary: 'Restore the settings from before the last settings file',
    body: SettingsUndoRequest,
    response: SettingsDiff,
    problems: ['nothing-to-undo', 'key-not-settable', 'config-broken', ...routesProblems],
  },
} as const satisfies EndpointTable;
