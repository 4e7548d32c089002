// Defines how clients read, preview, apply and undo the split tunnel as a document, in the contract.
import * as z from 'zod/mini';
import { ConfirmWithin } from './changes.ts';
import { Digits, type EndpointTable, routesProblems, tunnelProblems } from './endpoint.ts';
import { MAX_DOCUMENT } from './requests.ts';
import { Message, Time } from './values.ts';

const Count = z.int().check(z.nonnegative());
const Mode = z.nullable(z.enum(['exclude', 'include']));
const Kind = z.enum(['ip', 'range', 'host']);

/** Origin of an entry: the vendor's default list, a preset, this user, or the organization. */
export const RouteOrigin = z.enum(['default', 'preset', 'user', 'policy']);
export type RouteOrigin = z.infer<typeof RouteOrigin>;

const Entry = z.object({ kind: Kind, value: z.string() });

export const Routes = z.object({
  ok: z.literal(true),
  /** Revision of the current list; changes with the list. */
  revision: z.string(),
  mode: Mode,
  /** True if the organization controls the list, so that it can't be changed here. */
  readOnly: z.boolean(),
  entries: z.array(z.extend(Entry, { origin: RouteOrigin, description: z.nullable(z.string()) })),
  /** The last applied text, with its comments, if it still describes the list; otherwise generated from the list. */
  document: z.string(),
});
export type Routes = z.infer<typeof Routes>;

const Document = z.string().check(z.maxLength(MAX_DOCUMENT));

/** A warning; later versions may add values of `code`. */
export const RouteWarning = z.object({ code: z.string(), value: z.string() });

export const RoutesPreview = z.object({
  ok: z.literal(true),
  /** Revision of the list that the document was compared with; pass it as `ifRevision`. */
  revision: z.string(),
  mode: Mode,
  add: z.array(Entry),
  remove: z.array(Entry),
  unchanged: Count,
  /** Lines without a valid entry; a document with such a line is not applied. `reason` is `message` in English. */
  invalid: z.array(z.object({ line: z.int(), text: z.string(), reason: z.string(), message: Message })),
  duplicates: z.array(z.object({ line: z.int(), value: z.string(), first: z.int() })),
  contained: z.array(z.object({ line: z.int(), value: z.string(), in: z.string() })),
  warnings: z.array(RouteWarning),
  /** Number of tunnel CLI runs needed to apply the document. */
  calls: Count,
});
export type RoutesPreview = z.infer<typeof RoutesPreview>;

export const RoutesPreviewRequest = z.strictObject({
  document: Document,
  /** The peer of the sender's SSH session, to warn before the change cuts it off. */
  sshPeer: z.optional(z.string().check(z.maxLength(64))),
});
export type RoutesPreviewRequest = z.infer<typeof RoutesPreviewRequest>;

/** Cause of an applied document. `outside`: another program; `revert` and `undo`: a return to an earlier document. */
export const RoutesCause = z.enum([
  'edit',
  'import',
  'add',
  'remove',
  'preset',
  'settings',
  'api',
  'undo',
  'revert',
  'outside',
]);
export type RoutesCause = z.infer<typeof RoutesCause>;

export const RoutesRequest = z.strictObject({
  document: Document,
  /** The daemon answers `precondition-failed` if the list no longer has this revision. */
  ifRevision: z.optional(z.string().check(z.maxLength(64))),
  confirmWithin: z.optional(ConfirmWithin),
  cause: z.optional(z.enum(['edit', 'import', 'add', 'remove', 'preset', 'settings'])),
});
export type RoutesRequest = z.infer<typeof RoutesRequest>;

export const RoutesUndoRequest = z.strictObject({
  ifRevision: z.optional(z.string().check(z.maxLength(64))),
  confirmWithin: z.optional(ConfirmWithin),
});
export type RoutesUndoRequest = z.infer<typeof RoutesUndoRequest>;

/** Reply once the list is set and read back. */
export const RoutesResponse = z.object({
  ok: z.literal(true),
  revision: z.string(),
  added: Count,
  removed: Count,
});
export type RoutesResponse = z.infer<typeof RoutesResponse>;

/** Progress of setting a list; `rolling-back`: restores the previous list after a failed call. */
export const RoutesProgress = z.object({
  phase: z.enum(['applying', 'rolling-back', 'done']),
  done: Count,
  total: Count,
});
export type RoutesProgress = z.infer<typeof RoutesProgress>;

export const RoutesHistory = z.object({
  ok: z.literal(true),
  /** Newest first, at most 20. */
  documents: z.array(
    z.object({
      id: z.int(),
      at: Time,
      cause: RoutesCause,
      entries: Count,
      /** True if, to Culvert's knowledge, this list is set. */
      current: z.boolean(),
      /** True if `POST /api/routes/undo` restores it. */
      undo: z.boolean(),
      /** Present only with `id=`. */
      document: z.optional(z.string()),
    }),
  ),
});
export type RoutesHistory = z.infer<typeof RoutesHistory>;

const NETWORKS = ['lan', 'docker', 'podman', 'libvirt', 'kubernetes', 'tailscale'] as const;
/** A preset that a rule for a network may name. */
export const RoutePreset = z.enum(NETWORKS);
/** Every preset; `ssh`: the addresses from which others are logged in to this machine. */
export const PRESETS = [...NETWORKS, 'ssh'] as const;

/** Entries for networks of this machine, and for its SSH sessions. */
export const RoutesPresets = z.object({
  ok: z.literal(true),
  presets: z.array(
    z.object({
      id: z.enum(PRESETS),
      /** Empty if nothing was found on this machine. */
      entries: z.array(z.object({ value: z.string(), source: z.string() })),
    }),
  ),
});
export type RoutesPresets = z.infer<typeof RoutesPresets>;

export const routesEndpoints = {
  'GET /api/routes': {
    summary: 'The split tunnel as a document, with the origin of each entry',
    response: Routes,
    problems: ['routes-failed', ...tunnelProblems],
  },
  'POST /api/routes/preview': {
    summary: 'Preview a document: its changes, mistakes and warnings; changes nothing',
    body: RoutesPreviewRequest,
    response: RoutesPreview,
    problems: ['routes-failed', ...tunnelProblems],
  },
  'POST /api/routes': {
    summary:
      'Set the split tunnel to a document, or leave it as it is. Progress comes as `routes` events; the reply comes when the list is set, which takes minutes for thousands of entries',
    body: RoutesRequest,
    response: RoutesResponse,
    problems: routesProblems,
  },
  'POST /api/routes/undo': {
    summary: 'Restore the previous document; call again to go back further',
    body: RoutesUndoRequest,
    response: RoutesResponse,
    problems: [...routesProblems, 'nothing-to-undo'],
  },
  'GET /api/routes/history': {
    summary: 'The last 20 documents, newest first; with `id`, this one with its text',
    query: z.strictObject({ id: z.optional(Digits) }),
    response: RoutesHistory,
    problems: ['not-found'],
  },
  'GET /api/routes/presets': {
    summary:
      'Entries for the networks of this machine: its links, containers, virtual machines, Tailscale, and for its open SSH sessions',
    response: RoutesPresets,
  },
} as const satisfies EndpointTable;
