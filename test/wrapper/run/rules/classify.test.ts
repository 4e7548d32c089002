// Cases for each part of a rule that says what the end of an attempt means.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from '../../../../wrapper/catalog/provider.ts';
import {
  at,
  classify,
  findFailures,
  isCommandIn,
  type Outcome,
  stripAnsi,
} from '../../../../wrapper/run/rules/classify.ts';

const FAILED: Outcome = { exit: 1, signal: null, stdout: '', stderr: '', command: '' };

/** The class of the failure, or `success`. */
function verdict(rule: Partial<Rule>, outcome: Partial<Outcome>): string {
  const result = classify({ ...FAILED, ...outcome }, [{ class: 'rate', ...rule } as Rule]);
  return result.kind === 'success' ? 'success' : result.class;
}

test('without a rule that matches, exit 0 is success and everything else is final', () => {
  assert.deepEqual(classify({ ...FAILED, exit: 0 }, []), { kind: 'success' });
  for (const exit of [1, null]) assert.deepEqual(classify({ ...FAILED, exit }, []), { kind: 'final', class: 'other' });
});

test('a rule without exit codes holds for failures, and one with them for those only', () => {
  assert.equal(verdict({ stderr: '^x' }, { stderr: 'x' }), 'rate');
  assert.equal(verdict({ stderr: '^x' }, { stderr: 'x', exit: 0 }), 'success');
  assert.equal(verdict({ stderr: '^x' }, { stderr: 'x', exit: null }), 'rate');
  assert.equal(verdict({ exit: [3, 0] }, { exit: 0 }), 'rate');
  assert.equal(verdict({ exit: [3] }, { exit: 4 }), 'other');
  assert.equal(verdict({ exit: [1] }, { exit: null }), 'other');
  for (const exit of [0, -2]) assert.equal(verdict({ exit: [exit] }, { exit: null }), 'other');
  assert.equal(verdict({ exit: [-1] }, { exit: null }), 'rate', 'a signal counts as -1');
});

test('every stream and command that a rule names has to match', () => {
  const both = { stdout: '^out', stderr: '^err' };
  assert.equal(verdict(both, { stdout: 'out', stderr: 'err' }), 'rate');
  assert.equal(verdict(both, { stdout: 'out', stderr: 'x' }), 'other');
  assert.equal(verdict(both, { stdout: 'x', stderr: 'err' }), 'other');
  assert.equal(verdict({ ...both, commands: ['map'] }, { stdout: 'out', stderr: 'err', command: 'scrape' }), 'other');
  assert.equal(verdict({ ...both, commands: ['map'] }, { stdout: 'out', stderr: 'err', command: 'map all' }), 'rate');
});

test('a rule for JSON matches the value at its path', () => {
  const json = { path: 'error.code', matches: '^4' };
  assert.equal(verdict({ json }, { stdout: '{"error":{"code":429}}' }), 'rate');
  assert.equal(verdict({ json }, { stdout: '{"error":{"code":500}}' }), 'other');
  assert.equal(verdict({ json: { ...json, matches: 'undefined' } }, { stdout: '{}' }), 'other');
  assert.equal(verdict({ json }, { stdout: 'no JSON' }), 'other');
  assert.equal(verdict({ json, stderr: '^x' }, { stdout: '{"error":{"code":429}}' }), 'other');
});

test('a wrong usage is final, and a failure carries its scope and the text that matched', () => {
  assert.deepEqual(classify({ ...FAILED, stderr: 'x' }, [{ class: 'usage', stderr: '^x' }]), {
    kind: 'final',
    class: 'usage',
  });
  const rule = { class: 'quota', stderr: '^x+', scope: 'account' } as unknown as Rule;
  const result = classify({ ...FAILED, stderr: 'x'.repeat(201) }, [rule]);
  assert.deepEqual(result, {
    kind: 'retry',
    class: 'quota',
    rest: { until: 'period' },
    text: 'x'.repeat(200),
    scope: 'account',
  });
  const plain = classify({ ...FAILED, stderr: 'x' }, [{ class: 'rate', stderr: '^x' }]);
  assert.equal('scope' in plain, false);
});

test('an account is paused as its rule says, or as its class does', () => {
  const rest = (rule: Partial<Rule>, part: Partial<Outcome> = {}) => {
    const result = classify({ ...FAILED, stderr: 'x', ...part }, [{ class: 'rate', stderr: '^x', ...rule } as Rule]);
    return result.kind === 'retry' ? result.rest : null;
  };
  assert.deepEqual(rest({ class: 'quota' }), { until: 'period' });
  assert.deepEqual(rest({ class: 'rate' }), { until: 'elapsed', ms: 60_000 });
  assert.deepEqual(rest({ class: 'auth' }), { until: 'credential' });
  assert.deepEqual(rest({ rest: 'period' }), { until: 'period' });
  assert.deepEqual(rest({ rest: 'credential' }), { until: 'credential' });
  assert.deepEqual(rest({ rest: '2m' }), { until: 'elapsed', ms: 120_000 });
  const wait = (value: string) => rest({ retry_after: 'wait' }, { stdout: `{"wait":${value}}` });
  assert.deepEqual(wait('1'), { until: 'elapsed', ms: 1000 });
  assert.deepEqual(wait('0.5'), { until: 'elapsed', ms: 500 });
  for (const none of ['0', '-1', '"soon"', '1e999'])
    assert.deepEqual(wait(none), { until: 'elapsed', ms: 60_000 }, none);
});

test('times that a provider names are obeyed: seconds, dates, and numbers in JSON', () => {
  const outcome = { exit: 1, signal: null, stdout: '', stderr: '', command: '' };
  const rest = (rule: object, part: object) => {
    const verdict = classify({ ...outcome, ...part }, [{ class: 'rate', ...rule }], Date.UTC(2030, 0, 1));
    return verdict.kind === 'retry' ? verdict.rest : undefined;
  };
  const stderr = '^limit, (?:retry after (?<rest>\\d+)s|resets at (?<reset>.+))$';
  assert.deepEqual(rest({ stderr }, { stderr: 'limit, retry after 76s' }), { until: 'elapsed', ms: 76_000 });
  assert.deepEqual(rest({ stderr }, { stderr: 'limit, resets at 2031-01-01T00:00:00Z' }), {
    until: 'time',
    at: Date.UTC(2031, 0, 1),
  });
  assert.deepEqual(rest({ stderr }, { stderr: 'limit, resets at 1924992000' }), {
    until: 'time',
    at: 1_924_992_000_000,
  });
  assert.deepEqual(rest({ stderr }, { stderr: 'limit, resets at noon' }), { until: 'elapsed', ms: 60_000 });
  const json = { path: 'error.code', matches: '^limit$' };
  assert.deepEqual(rest({ json, retry_after: 'error.wait' }, { stdout: '{"error":{"code":"limit","wait":12}}' }), {
    until: 'elapsed',
    ms: 12_000,
  });
});

test('seconds since the epoch have 9 to 11 digits', () => {
  const rule: Rule = { class: 'rate', stderr: '^at (?<reset>\\S+)' };
  const reset = (text: string) => {
    const result = classify({ ...FAILED, stderr: `at ${text}` }, [rule], 0);
    return result.kind === 'retry' && result.rest.until === 'time' ? result.rest.at : null;
  };
  assert.equal(reset('100000000'), 100_000_000_000);
  assert.equal(reset('99999999999'), 99_999_999_999_000);
});

test('a phrase is found where it begins a line, also where lines wrap', () => {
  assert.equal(verdict({ stderr: '^rate limit' }, { stderr: 'Error\r\n  \x1b[31mrate\x1b[0m\n\tlimit' }), 'rate');
  assert.equal(verdict({ stderr: '^rate limit' }, { stderr: 'the rate limit' }), 'other');
  const far = (words: number) => verdict({ stderr: '^first.* last' }, { stderr: `first ${'a'.repeat(words)} last` });
  assert.deepEqual([far(4000 - 'first  last'.length), far(4000 - 'first  last'.length + 1)], ['rate', 'other']);
  assert.equal(verdict({ stderr: '^second$' }, { stderr: 'first\nsecond' }), 'rate');
});

test('passages that a rule could match are found, but not those of wrong usage', () => {
  const rules = [
    { class: 'usage', stderr: '^usage' },
    { class: 'rate', stderr: '^slow' },
    { class: 'auth', exit: [3] },
  ] as Rule[];
  assert.deepEqual(findFailures('usage x\nslow down\n', rules), ['slow down']);
  assert.deepEqual(findFailures('usage x\nslow down\n', rules.slice(0, 1)), []);
});

test('a command covers its subcommands', () => {
  assert.deepEqual(
    ['r2', 'r2 bucket list', 'r2x', 'r'].map(command => isCommandIn(command, ['r2'])),
    [true, true, false, false],
  );
});

test('terminal control sequences are removed', () => {
  assert.equal(stripAnsi('\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ \x1bMa\x01b\x02'), 'red link ab');
});

test('a path leads through objects and lists, and nowhere else', () => {
  const value = { a: [{ b: 1 }, null], text: 'x' };
  assert.equal(at(value, 'a.0.b'), 1);
  for (const path of ['a.1.b', 'a.2', 'text.length', 'text.0.x', 'b', 'toString'])
    assert.equal(at(value, path), undefined, path);
});
