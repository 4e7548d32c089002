// Defines the type of the contract's endpoints, and the schemas and problem codes that several features share.
import * as z from 'zod/mini';
import { Blocked, type ProblemCode } from './values.ts';

export interface Endpoint {
  summary: string;
  query?: z.ZodMiniObject;
  body?: z.ZodMiniType;
  response: z.ZodMiniType;
  /** Codes in addition to those of the guard and of body validation. */
  problems?: readonly ProblemCode[];
  /** Set if answers carry an ETag. */
  etag?: true;
  /** Set if the answer is one object for as long as the daemon runs, so that all clients share its text. */
  constant?: true;
  /** `stream`: server-sent events, with the first event's data as `response`. `metrics`: OpenMetrics text. */
  kind?: 'stream' | 'metrics';
}
export type EndpointTable = Record<`${'GET' | 'POST'} /api/${string}`, Endpoint>;

/** Body of a mutation without arguments; it must still be JSON, so that no web page can send it. */
export const Empty = z.strictObject({});
export type Empty = z.infer<typeof Empty>;
export const Digits = z.string().check(z.regex(/^\d{1,15}$/));
export const Flag = z.enum(['0', '1']);

/** Problems of every change of the tunnel: a blocked state, or a tunnel CLI that fails or hangs. */
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

/** Problems of a change that reverts unless it is confirmed. */
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
