// Derives an OpenAPI 3.1 document from the contract, so that each route is described only once.
import * as z from 'zod/mini';
import { ACTION_NAMES, ACTIONS, argumentOf, subjectOf } from './actions.ts';
import { endpoints, events, type RequestLine } from './contract.ts';
import * as doctor from './doctor.ts';
import type { Endpoint } from './endpoint.ts';
import { METRICS_TYPE, splitRequestLine } from './requests.ts';
import * as schemas from './schema.ts';
import { Message } from './values.ts';

/** Problems that any route can answer. */
const ALWAYS = [
  'peer-not-allowed',
  'token-required',
  'host-not-allowed',
  'origin-not-allowed',
  'fetch-site-not-allowed',
  'malformed-request',
  'uri-too-long',
  'headers-too-large',
  'request-timeout',
  'invalid-query',
  'busy',
  'internal-error',
] as const satisfies readonly schemas.ProblemCode[];
const WITH_BODY = [
  'unsupported-media-type',
  'payload-too-large',
  'malformed-json',
  'invalid-body',
] as const satisfies readonly schemas.ProblemCode[];

const POLICY =
  'Requests are closed: an unknown key or query parameter is refused. Responses, problems and events are open: fields ' +
  'may be added, and clients ignore what they do not know. `apiVersion` changes only when something is removed or ' +
  'changes its meaning. `x-problem-codes` of each route lists every code that it can answer.';

/** Schemas that the document defines once and refers to by name. */
const NAMES = new Map<unknown, string>(
  [...Object.entries(schemas), ...Object.entries(doctor), ['Message', Message] as const].flatMap(([name, s]) =>
    isSchema(s) ? [[s, name]] : [],
  ),
);

function reference(schema: unknown): object | null {
  const name = NAMES.get(schema);
  return name ? { $ref: `#/components/schemas/${name}` } : null;
}

/**
 * Returns the OpenAPI 3.1 document.
 * @param version the daemon's version, for `info.version`
 */
export function openapi(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [line, endpoint] of Object.entries(endpoints) as [RequestLine, Endpoint][]) {
    const { method, path } = splitRequestLine(line);
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = operation(line, endpoint);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Culvert',
      version,
      summary: 'Local control of an installed Cloudflare WARP client (unofficial)',
      description: POLICY,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: 'http://127.0.0.1:4173' }],
    paths,
    components: {
      schemas: {
        ...Object.fromEntries([...NAMES].map(([schema, name]) => [name, jsonSchema(schema as z.ZodMiniType)])),
        ActionRequest: actionRequests(),
      },
      responses: {
        Problem: {
          description: 'A problem document',
          content: { 'application/problem+json': { schema: reference(schemas.Problem) } },
        },
      },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'Only for requests from another address.' },
      },
    },
    security: [{}, { token: [] }],
    'x-events': Object.fromEntries(Object.entries(events).map(([name, schema]) => [name, described(schema)])),
  };
}

function operation(line: RequestLine, endpoint: Endpoint) {
  const { method, path } = splitRequestLine(line);
  const codes = [...ALWAYS, ...(endpoint.body ? WITH_BODY : [])];
  const parameters = [
    ...queryParameters(endpoint),
    ...(endpoint.etag ? [header(method === 'POST' ? 'If-Match' : 'If-None-Match')] : []),
    ...(endpoint.kind === 'stream' ? [header('Last-Event-ID')] : []),
  ];
  const success =
    endpoint.kind === 'stream'
      ? {
          description: 'Server-sent events; `x-events` of this document describes the data of each',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        }
      : {
          description: 'Success',
          ...(endpoint.etag ? { headers: { ETag: { schema: { type: 'string' } } } } : {}),
          content: {
            [endpoint.kind === 'metrics' ? METRICS_TYPE : 'application/json']: { schema: described(endpoint.response) },
          },
        };
  return {
    operationId: `${method.toLowerCase()}${path.replace(/^\/api/, '').replace(/[/.-](\w)/g, (_, c) => c.toUpperCase())}`,
    summary: endpoint.summary,
    ...(parameters.length ? { parameters } : {}),
    ...(endpoint.body
      ? { requestBody: { required: true, content: { 'application/json': { schema: described(endpoint.body) } } } }
      : {}),
    responses: {
      200: success,
      ...(endpoint.etag && method === 'GET' ? { 304: { description: 'Not modified' } } : {}),
      default: { $ref: '#/components/responses/Problem' },
    },
    'x-problem-codes': [...new Set([...codes, ...(endpoint.problems ?? [])])],
  };
}

/** Returns one shape per action, so that generated clients know each action's argument. */
function actionRequests() {
  return {
    oneOf: ACTION_NAMES.map(action => {
      const argument = argumentOf(action);
      const name = { type: 'string', const: action };
      if (!argument) return shape(action, { action: name });
      const { values, expected } = argument;
      const value = values ? { type: 'string', enum: values } : { type: 'string', description: expected };
      return shape(action, { action: name, value });
    }),
  };

  function shape(action: (typeof ACTION_NAMES)[number], argument: object) {
    const required = Object.keys(argument);
    const { confirmWithin, forSeconds, continues } = schemas.ActionRequest.shape;
    const options = { confirmWithin: jsonSchema(confirmWithin), forSeconds: jsonSchema(forSeconds) };
    const group = subjectOf(action) === 'routes' && { continues: jsonSchema(continues) };
    const properties = subjectOf(action) ? { ...argument, ...options, ...group } : argument;
    return { type: 'object', title: ACTIONS[action].summary, properties, required, additionalProperties: false };
  }
}

function queryParameters({ query }: Endpoint) {
  return Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    schema: jsonSchema(schema as z.ZodMiniType),
  }));
}

function header(name: string) {
  return { name, in: 'header', schema: { type: 'string' } };
}

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && '_zod' in value;
}

const described = (schema: z.ZodMiniType) => reference(schema) ?? jsonSchema(schema);

/** Returns JSON Schema 2020-12 (OpenAPI 3.1's dialect), without the long date-time pattern that repeats the format. */
function jsonSchema(schema: z.ZodMiniType): unknown {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io: 'input', // leaves objects open unless they are declared strict
    override: ({ zodSchema, jsonSchema: json }) => {
      const named = (zodSchema as unknown) !== schema && reference(zodSchema);
      if (named) {
        for (const key of Object.keys(json)) delete json[key];
        Object.assign(json, named);
      } else if (json.format === 'date-time') delete json.pattern;
    },
  });
  return json;
}
