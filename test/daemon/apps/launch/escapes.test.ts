// Programs that would leave their place in the tunnel: programs that hand over, and where the search for a program ends.
import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { handsOver } from '../../../../daemon/apps/launch/escapes.ts';
import { temporary } from '../../../support/temporary.ts';

test('a directory of PATH that can’t be entered is passed over, as a shell does', t => {
  const directory = temporary(t);
  const odd = join(directory, 'odd');
  symlinkSync(odd, odd); // a loop, which not even root can enter
  writeFileSync(join(directory, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
  symlinkSync('/usr/bin/flatpak', join(directory, 'alias'));
  assert.equal(handsOver('tool', `${odd}:${directory}`), null);
  assert.match(handsOver('flatpak', `${odd}:${directory}`) ?? '', /Flatpak/);
});
