// Why a request that met a limit is not made again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { obstacleTo, type Traces } from '../../../../wrapper/run/choose/obstacle.ts';

const NONE: Traces = {
  isShown: false,
  isRepeatable: true,
  silentJob: [],
  showingOptions: [],
  isOfAddress: false,
  isInputKept: true,
};

const CASES: [Partial<Traces>, string | undefined][] = [
  [{}, undefined],
  [{ interrupted: null }, undefined],
  [{ interrupted: 'SIGTERM', job: 'j1' }, 'SIGTERM arrived'],
  [{ job: 'j1', isShown: true }, 'the job j1 already exists'],
  [{ isShown: true, isRepeatable: false }, 'part of its output has been passed on'],
  [{ isRepeatable: false, silentJob: ['quota'] }, 'the command must run once only'],
  [{ silentJob: ['rate', 'quota'], isOfAddress: true }, 'it may have created a job without printing its id'],
  [
    { silentJob: ['quota'], showingOptions: ['--wait', '--json'] },
    'it may have created a job without printing its id (--wait or --json shows it)',
  ],
  [{ silentJob: ['rate'] }, undefined],
  [{ isOfAddress: true, isInputKept: false }, 'the limit is one of this network address, not of the account'],
  [{ isInputKept: false }, 'its standard input could not be kept'],
];

test('the first reason counts', () => {
  for (const [traces, expected] of CASES) {
    assert.equal(obstacleTo('quota', { ...NONE, ...traces }), expected, JSON.stringify(traces));
  }
});
