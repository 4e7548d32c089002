// Serves the files of the browser page without Koa. data/build/webui.mjs writes and compresses them.
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { errno } from '../core/errors.ts';
import { Problem } from '../problem.ts';
import { refuse } from './refusals.ts';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** Content codings (RFC 9110, 8.4.1) and the suffixes of the compressed files, the smallest file first. */
const CODINGS = [
  { coding: 'br', suffix: '.br' },
  { coding: 'gzip', suffix: '.gz' },
] as const;

const POLICY = [
  "default-src 'none'",
  ...['script-src', 'style-src', 'connect-src', 'img-src'].map(directive => `${directive} 'self'`),
  ...['frame-ancestors', 'base-uri', 'form-action'].map(directive => `${directive} 'none'`),
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY', // for browsers without frame-ancestors
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Answers the requests outside the API. */
export type Assets = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Serves the page in `directory`. File names are read once, so no other file can be requested.
 * @throws Problem not-found when this installation has no page.
 */
export function createAssets(directory: string): Assets {
  const names = new Set(listFiles(directory));
  if (!names.has('index.html')) throw new Problem('not-found', 'This installation has no browser page.');

  return (request, response) => {
    const path = request.url!.replace(/\?.*/s, '');
    const name = path === '/' ? 'index.html' : path.slice(1);
    const type = TYPES[extname(name)];
    if (!names.has(name) || !type || path === '/index.html')
      return refuse(request, response, new Problem('not-found', 'The browser page has no such file.'));
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return refuse(request, response, new Problem('method-not-allowed', 'The browser page can only be read.'));
    }
    const compressed = codingFor(request.headers['accept-encoding'] as string | undefined);
    // for files of this size, handing the read to another thread costs more than the read
    const body = readFileSync(join(directory, name + (compressed?.suffix ?? '')));
    response.writeHead(200, {
      ...HEADERS,
      ...(compressed ? { 'content-encoding': compressed.coding } : {}),
      'content-type': type,
      'content-length': body.length,
      vary: 'accept-encoding',
      // the name of every other file changes with its content
      'cache-control': name === 'index.html' ? 'no-store' : 'max-age=31536000, immutable',
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
}

function codingFor(accepted = '') {
  const offers = accepted.split(',').map(offer => offer.replace(/\s+/g, '').split(/;q=/i));
  const accepts = (name: string) => offers.some(([coding, q]) => coding?.toLowerCase() === name && Number(q ?? 1) > 0);
  return CODINGS.find(({ coding }) => accepts(coding));
}

function listFiles(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errno(error) === 'ENOENT') return [];
    throw error;
  }
}
