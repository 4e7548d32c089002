// Signals that arrive around the end of a child.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signalForwarding } from '../../../../wrapper/run/upstream/attempt.ts';

for (const ended of [
  { exitCode: null, signalCode: 'SIGINT' },
  { exitCode: 130, signalCode: null },
])
  test(`a Ctrl-C that ended the child (${ended.signalCode ?? ended.exitCode}) does not end this process when it is handled later`, () => {
    const before = process.listeners('SIGINT');
    const forwarding = signalForwarding();
    forwarding.forwardTo(() => ({ ...ended, kill: () => assert.fail('it has ended') }));
    const [receive] = process.listeners('SIGINT').filter(listener => !before.includes(listener));
    receive!('SIGINT'); // the runner's own listener would end the test
    assert.equal(forwarding.received, 'SIGINT');
    assert.ok(process.listeners('SIGINT').includes(receive!), 'the next child gets signals as well');
    forwarding.stop();
  });
