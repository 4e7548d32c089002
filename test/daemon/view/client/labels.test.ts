// The next step for each problem.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Blocked } from '../../../../daemon/api/values.ts';
import { nextStep } from '../../../../daemon/view/client/labels.ts';

test('without systemd no next step names systemctl, and each that did names the program', () => {
  for (const code of Blocked.options) {
    const [usual, other] = [true, false].map(systemd => nextStep(code, { systemd, emulated: false }) ?? '') as [
      string,
      string,
    ];
    assert.doesNotMatch(other, /systemctl/, code);
    if (/systemctl/.test(usual)) assert.match(other, /systemd does not run here.* warp-svc$/, code);
    else assert.equal(other, usual, code);
  }
});
