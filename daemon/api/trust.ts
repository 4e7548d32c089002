// Defines the organization's certificate in the contract: which there are, which tools trust them, and what to change.
import * as z from 'zod/mini';
import type { EndpointTable } from './endpoint.ts';
import { Message, Time } from './values.ts';

/** State of the certificate in every client. */
export const TrustState = z.object({
  /** Clients offer the page: a certificate is installed, or tools were changed for one. */
  offered: z.boolean(),
  /** Tools were changed for a certificate, and none is valid anymore. */
  removalDue: z.boolean(),
});
export type TrustState = z.infer<typeof TrustState>;

/** A certificate by which an organization inspects TLS. */
export const TrustCertificate = z.object({
  /** SHA-256, as pairs of hexadecimal digits with colons. */
  fingerprint: z.string(),
  /** Its own name for itself; anyone can write any name into a certificate. */
  name: z.string(),
  from: Time,
  until: Time,
  /** The file that holds it; null once it is gone from there. */
  source: z.nullable(z.string()),
  /** `withdrawn`: WARP no longer has it, or the device has left the organization. */
  state: z.enum(['valid', 'not-yet-valid', 'expired', 'withdrawn']),
  /** The user confirmed it by its fingerprint; WARP did not install it. */
  confirmed: z.boolean(),
  /** The system's list of authorities has it. */
  inSystem: z.boolean(),
});
export type TrustCertificate = z.infer<typeof TrustCertificate>;

/**
 * `trusts-too-much`: it verifies nothing, its list was replaced by a short one, or it trusts a certificate that is gone.
 * `not-reached`: nothing that this user changes reaches it.
 */
export const TrustVerdict = z.enum(['trusts', 'does-not-trust', 'trusts-too-much', 'not-reached', 'unknown']);
export type TrustVerdict = z.infer<typeof TrustVerdict>;

export const TrustChange = z.object({
  /** The file, or what else is changed. */
  target: z.string(),
  /** The difference as a patch of what Culvert adds: no line of the file is in it, and a line that goes is `-…`. */
  diff: z.string(),
});
export type TrustChange = z.infer<typeof TrustChange>;

export const TrustTool = z.object({
  /** Stable: `node`. */
  id: z.string(),
  title: z.string(),
  /** Its program; null for what is not one. */
  program: z.nullable(z.string()),
  verdict: TrustVerdict,
  /** Reasons for the verdict, a sentence each. */
  reasons: z.array(z.string()),
  wording: z.array(Message),
  /** Culvert changed it, and can undo that. */
  applied: z.boolean(),
  /** Only programs that start after the next login, or from the desktop, have the change. */
  newSessions: z.boolean(),
  /** Changes that make it trust the organization; empty if nothing is to change. */
  changes: z.array(TrustChange),
  /** Commands for an administrator, one a line. */
  administrator: z.array(z.string()),
});
export type TrustTool = z.infer<typeof TrustTool>;

/** A host, or a host and a port. */
export const TrustHost = z.string().check(z.regex(/^(?!-)[A-Za-z0-9.-]{1,253}(?::\d{1,5})?$/));

/** A host that tools were made to connect to. */
const TrustOnline = z.object({
  host: z.string(),
  /** Name of what signed its certificate. */
  issuer: z.string(),
  /** One of the organization's certificates did. */
  inspected: z.boolean(),
});
export type TrustOnline = z.infer<typeof TrustOnline>;

export const TrustReport = z.object({
  ok: z.literal(true),
  certificates: z.array(TrustCertificate),
  /** Certificates that were not used, and why. */
  refused: z.array(z.object({ path: z.string(), reason: z.string(), wording: Message })),
  tools: z.array(TrustTool),
  /** Absent unless asked for. */
  online: z.optional(TrustOnline),
  /** True if tools still have changes although no certificate is valid anymore: they should be undone. */
  removalDue: z.boolean(),
});
export type TrustReport = z.infer<typeof TrustReport>;

const ToolIds = z.array(z.string().check(z.regex(/^[a-z0-9-]{1,40}$/))).check(z.maxLength(64));

/** Tools by their `id`; all of them without it. */
export const TrustReportRequest = z.strictObject({ tools: z.optional(ToolIds), host: z.optional(TrustHost) });
export type TrustReportRequest = z.infer<typeof TrustReportRequest>;

/** Tools by their `id`; all of them without it. */
export const TrustRequest = z.strictObject({ tools: z.optional(ToolIds) });
export type TrustRequest = z.infer<typeof TrustRequest>;

export const TrustResponse = z.object({
  ok: z.literal(true),
  /** A line for each change. */
  done: z.array(z.string()),
});
export type TrustResponse = z.infer<typeof TrustResponse>;

export const trustEndpoints = {
  'POST /api/trust': {
    summary:
      "The organization's certificates, and whether each tool of this machine trusts them, which it shows by connecting to this machine. Nothing leaves this machine without `host`, to which each connects as well, with the user's certificates and none of the user's other settings",
    body: TrustReportRequest,
    response: TrustReport,
    problems: ['trust-refused', 'busy'],
  },
  'POST /api/trust/apply': {
    summary:
      'Make tools trust the certificates, as `changes` of `POST /api/trust` shows it; without `tools`, all that can be changed',
    body: TrustRequest,
    response: TrustResponse,
    problems: ['trust-refused', 'busy'],
  },
  'POST /api/trust/undo': {
    summary: 'Undo these changes; without `tools`, all of them',
    body: TrustRequest,
    response: TrustResponse,
    problems: ['trust-refused', 'busy'],
  },
} as const satisfies EndpointTable;
