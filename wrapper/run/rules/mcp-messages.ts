// Reads the messages of MCP, and judges what an error means for the account. Pure.

import { isRecord } from '../../../daemon/core/shape.ts';
import type { McpServer } from '../../catalog/programs.ts';
import { at, isForeignText, leftIn, parseJson, pauseOf, type Verdict } from './classify.ts';
import { inBody } from './http-errors.ts';
import { firstToCome, readMoment } from './moments.ts';
import { USER_PATTERN_MS, withTimeLimit } from './patterns.ts';
import { causeOfFailure } from './refusal-causes.ts';

export type Id = string | number;

/** One JSON-RPC message; the bytes of its line are passed on. */
export interface Message {
  id: Id | undefined;
  method: string | undefined;
  params: Record<string, unknown> | undefined;
  result: Record<string, unknown> | undefined;
  /** Token of a progress notification, or of the notifications that a request asks for. */
  token: Id | undefined;
  /** An `error`, or a result that says `isError`. */
  failure: Said | undefined;
}

/** Words of a server. */
interface Said {
  text: string;
  /** Structured fields: those of the protocol, or the text itself where it is a JSON document. */
  fields: unknown;
}

/** Longer lines are not parsed, which would take up to 48 times their size. */
const PARSED_BYTES = 1024 * 1024;
/** Places of an answer's id in the lines of the SDKs: before the result, or at the end. */
const ID_FIRST = /^\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{1,100}")[,}]/;
const ID_LAST = /,"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{1,100}")\}\s*$/;
const ID_BYTES = 200;
/** An error is no longer document. */
const DOCUMENT_BYTES = 16_384;

/** The messages of a line: one, several in a batch of the older protocol, or none if it is not JSON. */
export function readMessages(line: Buffer): Message[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line.toString());
  } catch {
    return [];
  }
  return (Array.isArray(parsed) ? parsed : [parsed]).flatMap(each => (isRecord(each) ? [readMessage(each)] : []));
}

/** The same for a line of a server. Of one over 1 MiB only the id is read, so that its call counts as answered. */
export function readFromServer(line: Buffer): Message[] {
  if (line.length <= PARSED_BYTES) return readMessages(line);
  const first = ID_FIRST.exec(line.toString('utf8', 0, ID_BYTES));
  const [, id] = first ?? ID_LAST.exec(line.toString('utf8', line.length - ID_BYTES)) ?? [];
  return id === undefined ? [] : [readMessage({ id: JSON.parse(id) as unknown })];
}

function readMessage(message: Record<string, unknown>): Message {
  const method = typeof message.method === 'string' ? message.method : undefined;
  const params = isRecord(message.params) ? message.params : undefined;
  const token = method === 'notifications/progress' ? params?.progressToken : at(params, '_meta.progressToken');
  const result = isRecord(message.result) ? message.result : undefined;
  return { id: idOf(message.id), method, params, result, token: idOf(token), failure: failureOf(message, result) };
}

function failureOf({ error }: Record<string, unknown>, result: Record<string, unknown> | undefined): Said | undefined {
  if (isRecord(error)) return said(error.message, error.data);
  return result?.isError === true ? saidIn(result) : undefined;
}

/** The words of a result, whether or not it says that it is an error. */
function saidIn(result: Record<string, unknown>): Said {
  return said(at(result, 'content.0.text'), result.structuredContent);
}

function said(value: unknown, data: unknown): Said {
  const text = typeof value === 'string' ? value : '';
  const isDocument = text.length <= DOCUMENT_BYTES && text.startsWith('{');
  return { text, fields: isRecord(data) ? data : isDocument ? parseJson(text) : undefined };
}

/** The name that a result gives its server's version; each era has its own place for it. */
export function versionIn(result: Record<string, unknown> | undefined): string | undefined {
  const meta = isRecord(result?._meta) ? result._meta['io.modelcontextprotocol/serverInfo'] : undefined;
  const version = at(result, 'serverInfo.version') ?? at(meta, 'version');
  return typeof version === 'string' ? version : undefined;
}

/** The line of a message of our own. */
export function lineOf(message: Record<string, unknown>): Buffer {
  return Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

export function idOf(value: unknown): Id | undefined {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}

type Rule = McpServer['rules'][number];
type Retry = Verdict & { kind: 'retry' };

/** Length of a text's start that is read. What follows may quote a page. */
const START = 4_000;

/**
 * The verdict about the answer to a call, or `undefined` where it says nothing about the account. Rules about structured fields come
 * before those about words. A result without `isError` is read only where the catalog says that the server omits it.
 */
export function verdictOf(
  { failure, result }: Pick<Message, 'failure' | 'result'>,
  { rules }: Pick<McpServer, 'rules'>,
  now = Date.now(),
): Retry | undefined {
  const own = failure ? rules : rules.filter(({ unflagged }) => unflagged);
  const words = failure ?? (own.length > 0 && result ? saidIn(result) : undefined);
  // without `isError`, a long text is content
  if (!words || (!failure && words.text.length > START)) return undefined;
  const ordered = [...own.filter(({ json }) => json), ...own.filter(({ json }) => !json)];
  return withTimeLimit(
    USER_PATTERN_MS,
    () => {
      for (const rule of ordered) {
        const match = matchOf(rule, words);
        if (!match) continue;
        const start = words.text.slice(0, START);
        // a page in between, the network or a missing right says nothing about the account
        const isOther = isForeignText(start) || causeOfFailure(rule.class, words.fields, start) !== undefined;
        return isOther ? undefined : verdictBy(rule, match, words, now);
      }
      return undefined;
    },
    undefined,
  );
}

function matchOf({ json, text }: Rule, words: Said): RegExpExecArray | null {
  const paths = json ? [json.path].flat() : [];
  const found = paths.map(path => at(words.fields, path)).filter(value => /^(?:string|number)$/.test(typeof value));
  const ofFields = json && found.map(value => new RegExp(json.matches).exec(String(value))).find(match => match);
  if (json && !ofFields) return null;
  return text === undefined ? (ofFields ?? null) : new RegExp(text).exec(words.text.slice(0, START));
}

function verdictBy(rule: Rule, match: RegExpExecArray, { text, fields }: Said, now: number): Retry {
  const { class: kind, scope } = rule;
  const start = text.slice(0, START);
  const left = kind === 'quota' ? leftIn(start) : {};
  const named = { kind: 'retry', class: kind, text: match[0].slice(0, 200), scope, ...left } as const;
  const stated = firstToCome([readMoment(match.groups?.rest), ...inBody(start, fields)], now);
  return { ...named, ...pauseOf(rule, kind, stated) };
}
