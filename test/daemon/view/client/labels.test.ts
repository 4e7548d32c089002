// The next step for each problem.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVICE_MANAGERS } from '../../../../daemon/api/tunnel.ts';
import { Blocked } from '../../../../daemon/api/values.ts';
import { nextStep } from '../../../../daemon/view/client/labels.ts';
import type { Manager } from '../../../../daemon/view/client/service-words.ts';

test('without systemd no next step names systemctl, and each that did names the program', () => {
  for (const kind of SERVICE_MANAGERS)
    for (const code of Blocked.options) {
      const step = (manager: Manager) => nextStep(code, { manager, emulated: false }) ?? '';
      const [usual, other] = [step(null), step({ kind, startsWarp: false })];
      assert.doesNotMatch(other, /systemctl/, code);
      if (/systemctl/.test(usual)) assert.match(other, / (warp-svc|\w+ restart CONTAINER)$/, code);
      else assert.equal(other, usual, code);
    }
});
