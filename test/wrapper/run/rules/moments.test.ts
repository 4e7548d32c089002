// Times as providers write them, and what each means.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { momentInText, readMoment, waitUntil } from '../../../../wrapper/run/rules/moments.ts';

const NOW = Date.parse('2026-11-28T12:00:00Z');
const [S, M, H, D] = [1_000, 60_000, 3_600_000, 86_400_000];

/** Statement of a provider, and the wait in milliseconds from `NOW` on; `undefined`: it names no time. */
const STATED: [string | number | boolean | null | undefined, number | undefined][] = [
  ['23', 23 * S],
  [23, 23 * S],
  ['1.5', 1.5 * S],
  [0.25, 250],
  ['0', undefined],
  ['-1', undefined],
  [-60, undefined],
  ['99999999', 99_999_999 * S],
  ['2s', 2 * S],
  ['20ms', 20],
  ['1m30s', 90 * S],
  ['6m0s', 6 * M],
  ['1m2.5s', 62.5 * S],
  ['1h2m3.4s', H + 2 * M + 3.4 * S],
  ['8.64s', 8.64 * S],
  ['"2s"', 2 * S],
  ['3 days 2 hours', 3 * D + 2 * H],
  ['2 minutes', 2 * M],
  ['0s', undefined],
  ['Sat, 28 Nov 2026 12:01:00 GMT', M],
  ['Saturday, 28-Nov-26 12:01:00 GMT', M],
  ['Sat Nov 28 12:01:00 2026 GMT', M],
  ['Sat, 28 Nov 2026 11:59:00 GMT', undefined],
  ['2026-11-28T12:05:00Z', 5 * M],
  ['2026-11-28T12:05:00.500+00:00', 5 * M + 500],
  ['2025-01-01T00:00:00Z', undefined],
  [String(NOW / S + 60), M],
  [NOW / S + 60, M],
  [String(NOW + M), M],
  [NOW + M, M],
  [String(NOW / S - 60), undefined],
  ['100000000', undefined],
  ['PT30S', 30 * S],
  ['PT1H2M3.5S', H + 2 * M + 3.5 * S],
  ['P1DT1M', D + M],
  ['P', undefined],
  ['PT0S', undefined],
  ['soon', undefined],
  ['', undefined],
  ['noon', undefined],
  ['1.5.2', undefined],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
  [null, undefined],
  [undefined, undefined],
  [true, undefined],
];

test('a time that a provider states means the same in every form', () => {
  for (const [value, wait] of STATED) assert.equal(waitUntil(readMoment(value), NOW), wait, String(value));
});

/** Sentences of providers: public texts of OpenAI, Groq, Firecrawl, Gemini, Anthropic, Codex, GitHub, Hugging Face and Mistral. */
const SENTENCES: [string, number | undefined][] = [
  ['Please try again in 1.574s. Visit https://platform.openai.com/account/rate-limits to learn more.', 1.574 * S],
  ['Please try again in 20ms.', 20],
  ['Please try again in 1m2.5s. Need more tokens?', 62.5 * S],
  ['Please try again in 7m40.4s', 7 * M + 40.4 * S],
  ['or please retry after 23s, resets at Thu Jan 01 2026', 23 * S],
  ['Please retry in 34.074824224s.', 34.075 * S],
  ['Retry after: 3600s', H],
  ['Try again in 3 days 2 hours', 3 * D + 2 * H],
  ['Please wait 30 seconds before trying again', 30 * S],
  ['Please wait a few minutes before you try again.', undefined],
  ['Try again in one minute', M],
  ['try again in a minute.', M],
  ['Please wait half a minute', 30 * S],
  ['Retry in half an hour', 30 * M],
  ['Retry in ten minutes', 10 * M],
  ['Too many requests. Next request allowed in 45 seconds.', 45 * S],
  ['You can make another request after 2 minutes', 2 * M],
  ['Backoff for 10s', 10 * S],
  ['{"retryDelay": "7s"}', 7 * S],
  ['retryDelay: "7s"', 7 * S],
  ['{"retry_after": 8, "x": 1}', 8 * S],
  ['retry_after=8', 8 * S],
  ['Retry in PT20S', 20 * S],
  ['Please retry in PT1M20S.', 80 * S],
  ['retry after 3 attempts', undefined],
  ['Another request of a user is running', undefined],
  ['You exceeded your current quota, please check your plan and billing details.', undefined],
  ['try changing the request limit to a lower value', undefined],
  ['5-hour usage limit reached, resets at 2026-11-28T15:00:00Z (2056)', 3 * H],
  ['retry 3 times', undefined],
  ['Request was throttled. Expected available in 37 seconds.', 37 * S],
  ['Try again in about 5 minutes', 5 * M],
  ['Retry after 30', 30 * S],
  ['Too fast. Retry-After: 30. Thank you.', 30 * S],
  ['Retry after: 1,200 seconds', 20 * M],
  ['retry_after: 12', 12 * S],
  ['Please retry your request after 20 seconds', 20 * S],
  ['Retry after 30.5', undefined],
  ['Available in 3 regions', undefined],
  ['Timed out after 30 seconds, retry', undefined],
  ['Retry after 30 requests', undefined],
  ['Retry after 12:30', undefined],
  ['Retry after 2026-11-28', undefined],
];

test('the wait that a sentence names is found', () => {
  for (const [text, wait] of SENTENCES) {
    const found = waitUntil(momentInText(text), NOW);
    assert.equal(
      found === undefined ? undefined : Math.round(found),
      wait === undefined ? undefined : Math.round(wait),
      text,
    );
  }
});
