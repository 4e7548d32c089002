// The contract as an OpenAPI 3.1 document, derived: nothing about a route is said twice.
import * as z from 'zod/mini';
import { type Endpoint, endpoints, events } from './contract.ts';
import * as schemas from './schema.ts';

/** What every request can be answered, by the guard. */
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
  'busy',
  'internal-error',
] as const satisfies readonly schemas.ProblemCode[];
const WITH_BODY = [
  'unsupported-media-type',
  'payload-too-large',
  'malformed-json',
  'invalid-body',
] as const satisfies readonly schemas.ProblemCode[];

/**
 * The OpenAPI 3.1 document.
 * @param version the daemon's, for `info.version`.
 */
export function openapi(version: string): Record<string, unknown> {
  const named = new Map<unknown, string>(
    Object.entries(schemas).flatMap(([name, s]) => (isSchema(s) ? [[s, name]] : [])),
  );
  const reference = (schema: z.ZodMiniType) => {
    const name = named.get(schema);
    return name ? { $ref: `#/components/schemas/${name}` } : jsonSchema(schema);
  };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [line, endpoint] of Object.entries(endpoints) as [string, Endpoint][]) {
    const [method, path] = line.split(' ') as [string, string];
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = operation(line, endpoint, reference);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Culvert',
      version,
      summary: 'Local control of an installed Cloudflare WARP client (unofficial)',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: 'http://127.0.0.1:4173' }],
    paths,
    components: {
      schemas: Object.fromEntries([...named].map(([schema, name]) => [name, jsonSchema(schema as z.ZodMiniType)])),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'Only for requests from another address.' },
      },
    },
    security: [{}, { token: [] }],
    'x-events': Object.fromEntries(Object.entries(events).map(([name, schema]) => [name, reference(schema)])),
  };
}

function operation(line: string, endpoint: Endpoint, reference: (s: z.ZodMiniType) => unknown) {
  const [method, path] = line.split(' ') as [string, string];
  const codes = [...ALWAYS, ...(endpoint.body ? WITH_BODY : []), ...(endpoint.query ? ['invalid-query'] : [])];
  const parameters = [
    ...queryParameters(endpoint),
    ...(endpoint.etag ? [header(method === 'POST' ? 'If-Match' : 'If-None-Match')] : []),
    ...(endpoint.kind === 'stream' ? [header('Last-Event-ID')] : []),
  ];
  const success =
    endpoint.kind === 'stream'
      ? {
          description: 'Server-sent events; `x-events` of this document tells the data of each',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        }
      : {
          description: 'Success',
          ...(endpoint.etag ? { headers: { ETag: { schema: { type: 'string' } } } } : {}),
          content: { 'application/json': { schema: reference(endpoint.response) } },
        };
  return {
    operationId: `${method.toLowerCase()}${path.replace(/^\/api/, '').replace(/[/.-](\w)/g, (_, c) => c.toUpperCase())}`,
    summary: endpoint.summary,
    ...(parameters.length ? { parameters } : {}),
    ...(endpoint.body
      ? { requestBody: { required: true, content: { 'application/json': { schema: reference(endpoint.body) } } } }
      : {}),
    responses: {
      200: success,
      ...(endpoint.etag && method === 'GET' ? { 304: { description: 'Not modified' } } : {}),
      default: {
        description: 'A problem document',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
    'x-problem-codes': [...new Set([...codes, ...(endpoint.problems ?? [])])],
  };
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

/** JSON Schema 2020-12, the dialect of OpenAPI 3.1; the long date-time pattern says no more than its format does. */
function jsonSchema(schema: z.ZodMiniType): unknown {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    override: ({ jsonSchema: json }) => {
      if (json.format === 'date-time') delete json.pattern;
    },
  });
  return json;
}
