// The tray in a real host, Xfce's panel: it is shown, and real clicks reach the daemon.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createDaemon, type FakeDaemon } from '../../support/gnome/daemon.ts';
import { type Desktop, missing, openDesktop } from '../../support/gnome/desktop.ts';
import { XFCE_PANEL } from '../../support/gnome/xfce.ts';
import { until } from '../../support/until.ts';

describe("Xfce's panel", { skip: missing('xfce4-panel', 'xdotool', 'gdbus') }, () => {
  let desktop: Desktop;
  let daemon: FakeDaemon;
  const tool = (command: string, ...args: string[]) =>
    execFileSync(command, args, { env: desktop.env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const registered = () => {
    const watcher = ['--dest', 'org.kde.StatusNotifierWatcher', '--object-path', '/StatusNotifierWatcher'];
    const get = ['--method', 'org.freedesktop.DBus.Properties.Get', 'org.kde.StatusNotifierWatcher'];
    try {
      return /:\d/.test(tool('gdbus', 'call', '--session', ...watcher, ...get, 'RegisteredStatusNotifierItems'));
    } catch {
      return false; // the watcher is not there yet
    }
  };

  before(async () => {
    desktop = await openDesktop('400x300');
    daemon = createDaemon(desktop.socket);
    await daemon.listen();
    const settings = join(desktop.env.XDG_CONFIG_HOME!, 'xfce4', 'xfconf', 'xfce-perchannel-xml');
    mkdirSync(settings, { recursive: true });
    writeFileSync(join(settings, 'xfce4-panel.xml'), XFCE_PANEL);
    desktop.start('xfce4-panel', ['--disable-wm-check']);
    desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'tray.js')]);
    await until(() => daemon.streams() === 1, 'the stream');
    await until(registered, 'the registration');
  });
  after(async () => {
    await desktop.close();
    await daemon.stop();
  });

  test('a middle click on the icon connects', async () => {
    // the icon is drawn a moment after it was registered: click until one reaches it
    await until(() => {
      tool('xdotool', 'mousemove', '12', '18', 'click', '2');
      return daemon.actions.length > 0;
    }, 'the action');
    assert.deepEqual(daemon.actions[0], { action: 'connect' });
  });
});
