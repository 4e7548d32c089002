// Serves the browser page without Koa: its HTML, and the files that data/build/webui.mjs wrote and compressed.
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { Problem } from '../problem.ts';
import { errno } from '../system/errno.ts';
import { createPage, type Reader } from './page.ts';
import { refuse } from './refusals.ts';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** The coding's name (RFC 9110, 8.4.1), the suffix of each file's compressed sibling, how HTML is compressed; the smaller first. */
const CODINGS = [
  { coding: 'br', suffix: '.br', compress: (text: string) => promisify(brotliCompress)(text, FAST) },
  { coding: 'gzip', suffix: '.gz', compress: (text: string) => promisify(gzip)(text) },
] as const;
/** The quality from which on more takes longer than it saves. */
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

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

/** Answers the requests outside the API. `reader` is asked for who reads the HTML. */
export type Assets = (request: IncomingMessage, response: ServerResponse, reader: () => Reader) => Promise<void>;

/**
 * The page in `directory`. Its names are read once: what is not among them can't be asked for.
 * @throws Problem not-found when this installation has no page.
 */
export function createAssets(directory: string): Assets {
  const names = new Set(listFiles(directory));
  if (!names.has('index.html')) throw new Problem('not-found', 'This installation has no browser page.');
  const page = createPage(directory, names);
  const compressed = rememberLast();

  return async (request, response, reader) => {
    const path = request.url!.replace(/\?.*/s, '');
    const name = path === '/' ? 'index.html' : path.slice(1);
    const type = TYPES[extname(name)];
    // the parts of the HTML are not files of the page
    if (!names.has(name) || !type || path.startsWith('/index.'))
      return refuse(request, response, new Problem('not-found', 'The browser page has no such file.'));
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return refuse(request, response, new Problem('method-not-allowed', 'The browser page can only be read.'));
    }
    const found = codingFor(request.headers['accept-encoding'] as string | undefined);
    const send = (body: string | Buffer, headers: Record<string, string>) => {
      response.writeHead(200, {
        ...HEADERS,
        ...headers,
        ...(found ? { 'content-encoding': found.coding } : {}),
        'content-type': type,
        'content-length': Buffer.byteLength(body),
      });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    if (name === 'index.html') {
      const html = await page.htmlFor(reader());
      // it holds the state of this moment
      send(found ? await compressed(html, found) : html, { 'cache-control': 'no-store', link: page.link });
    } else {
      // its name changes with its content; at this size, a read in another thread takes longer to come back than to do
      send(readFileSync(join(directory, name + (found?.suffix ?? ''))), {
        'cache-control': 'max-age=31536000, immutable',
        vary: 'accept-encoding',
      });
    }
  };
}

/** Compresses a text; as long as the same one is asked for in the same coding, the result is kept. */
function rememberLast() {
  let last: { html: string; coding: string; body: Buffer } | null = null;
  return async (html: string, { coding, compress }: (typeof CODINGS)[number]) => {
    if (last?.html !== html || last.coding !== coding) last = { html, coding, body: await compress(html) };
    return last.body;
  };
}

function codingFor(accepted = '') {
  const offers = accepted.split(',').map(offer => offer.trim().split(/\s*;\s*q=/i));
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
