// The window while something has to be set up, with the button that helps.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Blocked } from '../../daemon/api/schema.ts';
import { missing } from '../support/gnome/desktop.ts';
import { daemon, stage, usePages } from '../support/gnome/pages.ts';

describe('the set-up', { skip: missing('xdotool'), concurrency: false }, () => {
  const { find, press } = usePages();
  const block = (blocked: Blocked | null) =>
    daemon.set('status', { state: blocked ? 'unable' : 'disconnected', reason: null, blocked });

  test('without warp-cli it says how to get it, and what the demo is', async () => {
    block('cli-missing');
    await find('Cloudflare WARP is not installed');
    await find('Installation Guide');
    await find('Try the Demo');
  });

  test('a stopped service can be started by a button, or by a command to copy', async () => {
    block('service-stopped');
    await find('Start the Service');
    await press('Copy “sudo systemctl enable --now warp-svc”');
    await find('Copied');
  });

  test('terms and registration are one step', async () => {
    block('terms-not-accepted');
    await find('Terms of Service');
    daemon.onAction = ({ action }) => block(action === 'acceptTerms' ? 'not-registered' : null);
    await press('Agree and Set Up');
    await stage.acted(2);
    assert.deepEqual(daemon.actions, [{ action: 'acceptTerms' }, { action: 'register' }]);
    await find('Disconnected');
  });

  test('a device that is not registered is set up with one button, or joins an organization', async () => {
    block('not-registered');
    await press('Join an Organization…');
    await find('Team name');
    await press('Back');
    daemon.onAction = () => block(null);
    await press('Set Up');
    await find('WARP is set up');
    await find('Disconnected');
    assert.deepEqual(daemon.actions, [{ action: 'register' }]);
  });

  test('a user who may not change WARP sees why', async () => {
    block('not-authorized');
    await find('You can’t change WARP on this computer');
    block(null);
    await find('Disconnected');
  });
});
