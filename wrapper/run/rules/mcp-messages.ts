// Reads MCP messages and judges what an error means for the account. Pure.
import { isRecord } from '../../../daemon/core/shape.ts';
import type { McpServer } from '../../catalog/programs.ts';
import { at, isForeignText, leftIn, parseJson, pauseOf, type Verdict } from './classify.ts';
import { inBody } from './http-errors.ts';
import { firstToCome, readMoment } from './moments.ts';
import { USER_PATTERN_MS, withTimeLimit } from './patterns.ts';
import { causeOfFailure } from './refusal-causes.ts';
import { codesIn, usualErrorIn } from './usual-errors.ts';

export type Id = string | number;

/** A JSON-RPC message as read; the bytes of its line are forwarded. */
export interface Message {
  id: Id | undefined;
  method: string | undefined;
  params: Record<string, unknown> | undefined;
  result: Record<string, unknown> | undefined;
  /** The progress token of a notification, or of a request that asks for progress notifications. */
  token: Id | undefined;
  /** The words of an `error`, or of a result with `isError`. */
  failure: Said | undefined;
}

/** A server's words about a call. */
interface Said {
  text: string;
  /** Structured fields: the protocol's, or those in the text if it is a JSON document. */
  fields: unknown;
}

/** The longest server line to parse, because parsing can take up to 48 times its size. */
const PARSED_BYTES = 1024 * 1024;
/** The positions in which the SDKs write an answer's id: before the result, or at the end. */
const ID_FIRST = /^\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{1,100}")[,}]/;
const ID_LAST = /,"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{1,100}")\}\s*$/;
const ID_BYTES = 200;
/** The longest text to parse as an error's document. */
const DOCUMENT_BYTES = 16_384;

/** Reads the messages of a line: one, several in a batch of the older protocol, or none if the line is not JSON. */
export function readMessages(line: Buffer): Message[] {
  const parsed = parseJson(line.toString());
  return (Array.isArray(parsed) ? parsed : [parsed]).flatMap(each => (isRecord(each) ? [readMessage(each)] : []));
}

/** Reads the messages of a server's line. If the line is over 1 MiB, reads only the id, and the call counts as answered. */
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

/** Returns the words of a result, with or without `isError`. */
function saidIn(result: Record<string, unknown>): Said {
  return said(at(result, 'content.0.text'), result.structuredContent);
}

function said(value: unknown, data: unknown): Said {
  const text = typeof value === 'string' ? value : '';
  const isDocument = text.length <= DOCUMENT_BYTES && text.startsWith('{');
  return { text, fields: isRecord(data) ? data : isDocument ? parseJson(text) : undefined };
}

/** Returns the server's version from a result. Its place depends on the version of the protocol. */
export function versionIn(result: Record<string, unknown> | undefined): string | undefined {
  const meta = isRecord(result?._meta) ? result._meta['io.modelcontextprotocol/serverInfo'] : undefined;
  const version = at(result, 'serverInfo.version') ?? at(meta, 'version');
  return typeof version === 'string' ? version : undefined;
}

/** Returns the line for one of our own messages. */
export function lineOf(message: Record<string, unknown>): Buffer {
  return Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

export function idOf(value: unknown): Id | undefined {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}

type Rule = McpServer['rules'][number];
/** `usual` is true if only the usual words or codes say so, and no rule of the catalog. */
type Retry = Verdict & { kind: 'retry'; usual?: true };

/** Length of a text's start that is read. The rest may quote a page. */
const START = 4_000;

/**
 * Returns the verdict on the answer to a call, or `undefined` if the answer says nothing about the account. Rules about
 * structured fields come before rules about words. A result without `isError` is read only by rules that the catalog marks
 * as `unflagged`. The usual words and codes count last, and only in an error.
 */
export function verdictOf(
  { failure, result }: Pick<Message, 'failure' | 'result'>,
  { rules, usual_errors: isUsual = false }: Pick<McpServer, 'rules'> & Partial<Pick<McpServer, 'usual_errors'>>,
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
      const start = words.text.slice(0, START);
      for (const rule of ordered) {
        const match = matchOf(rule, words);
        if (match) return isForeign(rule, words, start) ? undefined : verdictBy(rule, match, words, now);
      }
      const usual = isUsual && failure ? usualErrorIn(codesIn(words.fields), start) : undefined;
      if (!usual || isForeign(usual, words, start)) return undefined;
      return { ...verdictBy(usual, usual.match, words, now), usual: true as const };
    },
    undefined,
  );
}

/** Reports whether a page of a proxy, the network or a missing right is the cause, which says nothing about the account. */
function isForeign({ class: kind }: Pick<Rule, 'class'>, { fields }: Said, start: string): boolean {
  return isForeignText(start) || causeOfFailure(kind, fields, start) !== undefined;
}

function valuesAt(paths: readonly string[], fields: unknown): (string | number)[] {
  const values = paths.map(path => at(fields, path));
  return values.filter(value => typeof value === 'string' || typeof value === 'number');
}

function matchOf({ json, text }: Rule, words: Said): RegExpExecArray | null {
  const found = valuesAt(json ? [json.path].flat() : [], words.fields);
  const ofFields = json && found.map(value => new RegExp(json.matches).exec(String(value))).find(match => match);
  if (json && !ofFields) return null;
  return text === undefined ? (ofFields ?? null) : new RegExp(text).exec(words.text.slice(0, START));
}

function verdictBy(
  rule: Pick<Rule, 'class' | 'scope' | 'rest'>,
  match: RegExpExecArray,
  { text, fields }: Said,
  now: number,
): Retry {
  const { class: kind, scope } = rule;
  const start = text.slice(0, START);
  const left = kind === 'quota' ? leftIn(start) : {};
  const named = { kind: 'retry', class: kind, text: match[0].slice(0, 200), scope, ...left } as const;
  const stated = firstToCome([readMoment(match.groups?.rest), ...inBody(start, fields)], now);
  return { ...named, ...pauseOf(rule, kind, stated) };
}
