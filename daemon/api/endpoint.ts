// Defines what an endpoint of the contract is, and what endpoints of several features share.
import * as z from 'zod/mini';
import { Blocked, type ProblemCode } from './values.ts';

export interface Endpoint {
  summary: string;
  query?: z.ZodMiniObject;
  body?: z.ZodMiniType;
  response: z.ZodMiniType;
  /** Codes beyond those that the guard and the body's validation can always answer. */
  problems?: readonly ProblemCode[];
  /** Answers carry an ETag. */
  etag?: true;
  /**
   * `stream`: server-sent events; `response` is then the first event's data. `metrics`: OpenMetrics text, which `response`
   * is.
   */
  kind?: 'stream' | 'metrics';
}
export type EndpointTable = Record<`${'GET' | 'POST'} /api/${string}`, Endpoint>;

/** A mutation that takes nothing; still a JSON body, so that no web page can send it. */
export const Empty = z.strictObject({});
export type Empty = z.infer<typeof Empty>;
export const Digits = z.string().check(z.regex(/^\d{1,15}$/));
export const Flag = z.enum(['0', '1']);

/** A mutation of the tunnel: what a blocked state, a failing or a hanging tunnel CLI answers. */
export const tunnelProblems = [
  'argument-rejected',
  ...Blocked.options,
  'unsupported-by-cli',
  'tunnel-cli-failed',
  'tunnel-cli-timeout',
  'proxy-port-in-use',
  'proxy-not-answering',
  'config-not-writable',
  'busy',
] as const satisfies readonly ProblemCode[];

/** A change that reverts unless it is confirmed. */
export const changeProblems = ['previous-unknown', 'state-not-writable'] as const satisfies readonly ProblemCode[];
export const routesProblems = [
  'document-invalid',
  'routes-failed',
  'precondition-failed',
  ...changeProblems,
  ...tunnelProblems,
] as const satisfies readonly ProblemCode[];

export const killSwitchProblems = [
  'killswitch-not-installed',
  'killswitch-denied',
  'killswitch-failed',
] as const satisfies readonly ProblemCode[];
