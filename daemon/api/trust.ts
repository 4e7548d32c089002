// Defines the organization's certificates in the contract, with the trust of each tool and the changes it needs.
import * as z from 'zod/mini';
import type { EndpointTable } from './endpoint.ts';
import { Message, Time } from './values.ts';

/** State of the certificate that every client receives. */
export const TrustState = z.object({
  /** True if clients offer the page: a certificate is installed, or tools were changed for a certificate. */
  offered: z.boolean(),
  /** True if tools were changed for a certificate, and no certificate is valid anymore. */
  removalDue: z.boolean(),
});
export type TrustState = z.infer<typeof TrustState>;

/** A certificate that an organization uses to inspect TLS. */
export const TrustCertificate = z.object({
  /** SHA-256, as colon-separated pairs of hexadecimal digits. */
  fingerprint: z.string(),
  /** The name in the certificate, which proves nothing: anyone can write any name. */
  name: z.string(),
  from: Time,
  until: Time,
  /** The file with the certificate; null once it no longer has it. */
  source: z.nullable(z.string()),
  /** `withdrawn`: WARP no longer has it, or the device has left the organization. */
  state: z.enum(['valid', 'not-yet-valid', 'expired', 'withdrawn']),
  /** True if the user confirmed the fingerprint of a certificate that WARP did not install. */
  confirmed: z.boolean(),
  /** True if the system's list of authorities contains it. */
  inSystem: z.boolean(),
});
export type TrustCertificate = z.infer<typeof TrustCertificate>;

/**
 * `trusts-too-much`: the tool verifies nothing, uses a short replacement list, or trusts a certificate that is gone.
 * `not-reached`: no change by this user affects the tool.
 */
export const TrustVerdict = z.enum(['trusts', 'does-not-trust', 'trusts-too-much', 'not-reached', 'unknown']);
export type TrustVerdict = z.infer<typeof TrustVerdict>;

export const TrustChange = z.object({
  /** The file or other place of the change. */
  target: z.string(),
  /** A patch with Culvert's additions only: it quotes no line of the file, and shows a removed line as `-…`. */
  diff: z.string(),
});
export type TrustChange = z.infer<typeof TrustChange>;

export const TrustTool = z.object({
  /** Stable identifier, such as `node`. */
  id: z.string(),
  title: z.string(),
  /** The tool's program; null if the tool is not a program. */
  program: z.nullable(z.string()),
  verdict: TrustVerdict,
  /** Reasons for the verdict, one sentence each. */
  reasons: z.array(z.string()),
  wording: z.array(Message),
  /** True if Culvert changed the tool and can undo the change. */
  applied: z.boolean(),
  /** True if the change only reaches programs started after the next login, or from the desktop. */
  newSessions: z.boolean(),
  /** Changes that make the tool trust the organization; empty if it needs no change. */
  changes: z.array(TrustChange),
  /** Commands for an administrator, one per line. */
  administrator: z.array(z.string()),
});
export type TrustTool = z.infer<typeof TrustTool>;

/** A host, optionally with a port. */
export const TrustHost = z.string().check(z.regex(/^(?!-)[A-Za-z0-9.-]{1,253}(?::\d{1,5})?$/));

/** Result for the host that the tools connected to. */
const TrustOnline = z.object({
  host: z.string(),
  /** Name of the issuer of the host's certificate. */
  issuer: z.string(),
  /** True if the issuer is one of the organization's certificates. */
  inspected: z.boolean(),
});
export type TrustOnline = z.infer<typeof TrustOnline>;

export const TrustReport = z.object({
  ok: z.literal(true),
  certificates: z.array(TrustCertificate),
  /** Certificates that were not used, with the reasons. */
  refused: z.array(z.object({ path: z.string(), reason: z.string(), wording: Message })),
  tools: z.array(TrustTool),
  /** Absent unless requested. */
  online: z.optional(TrustOnline),
  /** True if tools still have changes, although no certificate is valid anymore; the user should undo them. */
  removalDue: z.boolean(),
});
export type TrustReport = z.infer<typeof TrustReport>;

const ToolIds = z.array(z.string().check(z.regex(/^[a-z0-9-]{1,40}$/))).check(z.maxLength(64));

/** `tools` lists the ids of tools; without it, the report covers all tools. */
export const TrustReportRequest = z.strictObject({ tools: z.optional(ToolIds), host: z.optional(TrustHost) });
export type TrustReportRequest = z.infer<typeof TrustReportRequest>;

/** `tools` lists the ids of tools; without it, the request applies to all tools. */
export const TrustRequest = z.strictObject({ tools: z.optional(ToolIds) });
export type TrustRequest = z.infer<typeof TrustRequest>;

export const TrustResponse = z.object({
  ok: z.literal(true),
  /** Changes made, one line each. */
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
