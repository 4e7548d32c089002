// Each refusal of the table, at its door: what it means for the account, for how long, and with which words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pauseFor, type Retry } from '../../../../wrapper/run/choose.ts';
import { classify, isForeignText } from '../../../../wrapper/run/rules/classify.ts';
import { verdictOf } from '../../../../wrapper/run/rules/http-errors.ts';
import { readMessages, verdictOf as verdictOfMcp } from '../../../../wrapper/run/rules/mcp-messages.ts';
import { noteText } from '../../../../wrapper/run/rules/refusal-causes.ts';
import type { Verdict } from '../../../../wrapper/store/pause.ts';
import { REFUSALS, REFUSED_AT, type RefusalCase } from '../../../support/wrapper/refusals.ts';
import { providers } from '../../../support/wrapper/shipped.ts';

function verdict({ cli, door, status = 0, headers = {}, body = '', ...more }: RefusalCase): Verdict | undefined {
  const provider = providers[cli]!;
  const { exit = 1, stdout = '', stderr = '', answer = {} } = more;
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  if (door === 'gateway') return verdictOf({ status, headers, body: sent, at: REFUSED_AT }, provider.http!, false);
  if (door === 'shim') return classify({ exit, signal: null, stdout, stderr, command: '' }, provider.rules, REFUSED_AT);
  const [message] = readMessages(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer })));
  return verdictOfMcp(message!, { rules: provider.mcp.flatMap(({ rules }) => rules) }, REFUSED_AT);
}

function meaning(found: Verdict | undefined): RefusalCase['means'] {
  if (found?.kind === 'retry') return found.check ? 'check' : found.class;
  return found?.kind === 'final' && found.note !== undefined ? 'other' : 'none';
}

for (const [index, row] of REFUSALS.entries())
  test(`refusal ${index}, at the ${row.door} of ${row.cli}: ${row.source}`, () => {
    const found = verdict(row);
    assert.equal(meaning(found), row.means);
    const note = found?.kind === 'success' ? undefined : found?.note;
    if (row.words && note !== undefined) assert.match(noteText(row.cli, note, {}), new RegExp(row.words));
    if (found?.kind === 'retry') {
      assert.equal(found.left, row.left);
      if (row.pause === undefined) return;
      const { until } = pauseFor(found, null, REFUSED_AT);
      assert.equal(Math.round(until! - REFUSED_AT), Math.round(row.pause));
    }
  });

/** Lines that tools print about a page or a proxy, and lines that look like them. */
const PRINTED: [text: string, isForeign: boolean][] = [
  ['SyntaxError: Unexpected token \'<\', "<!DOCTYPE "... is not valid JSON', true],
  ['Error: Unexpected token < in JSON at position 0', true],
  ["invalid character '<' looking for beginning of value", true],
  ['<body class="blocked">', true],
  ['npm error Unable to authenticate, need: Basic realm="squid"', true],
  ['npm error Unable to authenticate, need: Basic realm="Company proxy"', true],
  ['npm error Unable to authenticate, need: NTLM', true],
  ['npm error Unable to authenticate, need: Basic realm="Artifactory"', false],
  ['HTTP 407: Proxy Authentication Required', true],
  ['tunneling socket could not be established, statusCode=407', true],
  ['Proxy response (407) !== 200 when HTTP Tunneling', true],
  ['511 Network Authentication Required', true],
  ['took 407 ms', false],
  ["Unexpected token 'i' in JSON", false],
];

test('a page or a login in between that a tool prints says nothing about the account', () => {
  for (const [text, isForeign] of PRINTED) {
    assert.equal(isForeignText(text), isForeign, text);
    const end = { exit: 1, signal: null, stdout: '', stderr: `Error: Unauthorized ${text}`, command: '' };
    assert.equal(classify(end, providers.firecrawl!.rules).kind, isForeign ? 'final' : 'retry', text);
  }
});

const PAST = 'Sat, 28 Nov 2026 11:59:00 GMT';
const [S, M, H, D] = [1_000, 60_000, 3_600_000, 86_400_000];
const JSON_TYPE = { 'content-type': 'application/json' };
const limited = (body: object, headers: Record<string, string> = {}, status = 429): Partial<RefusalCase> => ({
  cli: 'exa',
  door: 'gateway',
  status,
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(body),
});
const server = (text: string, fields: object): Partial<RefusalCase> => ({
  cli: 'firecrawl',
  door: 'mcp',
  answer: { result: { isError: true, content: [{ type: 'text', text }], structuredContent: fields } },
});
const gemini = (wait: string): Partial<RefusalCase> => ({
  cli: 'gemini',
  door: 'shim',
  stderr: `Error when talking to Gemini API Full report available at: /tmp/x RetryableQuotaError: Please retry in ${wait}.`,
});

/** Place of a time, the pause from `REFUSED_AT` on, and whether it is the time that the provider named. */
const TIMES: [where: string, row: Partial<RefusalCase>, pause: number, isStated: boolean][] = [
  ['a header', limited({}, { 'retry-after': '30' }), 30 * S, true],
  ['a header of two servers', limited({}, { 'retry-after': '60, 120' }), 2 * M, true],
  ['a header of limits, in one', limited({}, { ratelimit: 'limit=100, remaining=0, reset=50' }), 50 * S, true],
  ['a header, over', limited({}, { 'retry-after': PAST }), M, false],
  ['a header, too long', limited({}, { 'retry-after': '99999999' }), H, false],
  ['a header, too long for a date', limited({}, { 'retry-after': 'Mon, 30 Nov 2026 12:00:00 GMT' }), H, false],
  ['a header, an hour', limited({}, { 'retry-after': '3600' }), H, true],
  ['a header for a quota', limited({}, { 'retry-after': '99999999' }, 402), 366 * D, false],
  ['a header for a quota, a week', limited({}, { 'retry-after': '604800' }, 402), 7 * D, true],
  ['a header for a quota, over', limited({}, { 'retry-after': PAST }, 402), H, false],
  ['a header for a refused key', limited({}, { 'retry-after': '30' }, 401), H, false],
  ['milliseconds', limited({}, { 'retry-after-ms': '500' }), 500, true],
  ['milliseconds, none', limited({}, { 'retry-after-ms': 'Infinity' }), M, false],
  ['milliseconds, negative', limited({}, { 'retry-after-ms': '-5', 'retry-after': '2' }), 2 * S, true],
  ['milliseconds, too long', limited({}, { 'retry-after-ms': '99999999999' }), H, false],
  ['a header of limits', limited({}, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '20' }), 20 * S, true],
  ['a header of limits, over', limited({}, { 'x-ratelimit-reset': String(REFUSED_AT / S - 9) }), M, false],
  ['a header of limits, a day', limited({}, { 'x-ratelimit-reset': String(REFUSED_AT / S + D / S) }), H, false],
  ['a field', limited({ error: { retry_after: 12 } }), 12 * S, true],
  ['a field, over', limited({ resets_at: REFUSED_AT / S - 60 }), M, false],
  ['a field, too long', limited({ retry_after: 1e7 }), H, false],
  ['a sentence', limited({ error: 'Please try again in 1.5s.' }), 1.5 * S, true],
  ['a sentence, over', limited({ error: 'resets at 2026-11-28T11:00:00Z' }), M, false],
  ['a sentence, too long', limited({ error: 'Try again in 3 days' }), H, false],
  ['a header that is over, and a field', limited({ retry_after: 12 }, { 'retry-after': PAST }), 12 * S, true],
  ['a field that is over, and a sentence', limited({ resets_at: 1e9, error: 'wait 7 seconds' }), 7 * S, true],
  ['the text of a command', gemini('34.5s'), 34.5 * S, true],
  ['the text of a command, too long', gemini('99999999s'), H, false],
  ['the text of a server', server('Rate limit exceeded. Please retry after 23s, resets', {}), 23 * S, true],
  ['the text of a server, too long', server('Rate limit exceeded. Please retry after 9999999s, resets', {}), H, false],
  ['a field of a server, over', server('x', { status: 429, resets_at: 1e9 }), M, false],
];

for (const [where, row, pause, isStated] of TIMES)
  test(`only a time to come that is not cut counts as the provider's: ${where}`, () => {
    const found = verdict({ source: '', means: 'rate', ...row } as RefusalCase);
    assert.equal(found?.kind, 'retry');
    const { until, stated = false } = pauseFor(found as Retry, null, REFUSED_AT);
    assert.deepEqual([Math.round(until! - REFUSED_AT), stated], [pause, isStated]);
  });
