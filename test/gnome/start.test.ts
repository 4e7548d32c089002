// The panel starts: for an action or a page, with a slow daemon, and when it is ended before it has loaded everything.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { errno } from '../../daemon/core/errors.ts';
import { createDaemon } from '../support/gnome/daemon.ts';
import { missing, openDesktop, talk } from '../support/gnome/desktop.ts';
import { sample } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';

/** Opens a named pipe; null while it has no reader. */
function openToWrite(pipe: string): number | null {
  try {
    return openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errno(error) === 'ENXIO') return null;
    throw error;
  }
}

describe('a panel that starts', { skip: missing('xdotool'), concurrency: false }, () => {
  test('the reason for starting a panel waits for the state', async () => {
    const reasons = [
      ['copy-proxy', 'Copied'],
      ['report', 'Report a problem'],
    ] as const;
    for (const [action, shown] of sample(reasons, 1)) {
      const another = await openDesktop();
      const behind = join(another.directory, 'behind.sock');
      const service = createDaemon(behind);
      service.set('settings', { Mode: 'proxy' });
      service.set('tunnel', { proxyPort: 40123 });
      await service.listen();
      const slow = await holdBack(another.socket, behind);
      const fresh = another.start('gjs', ['-m', join(another.prefix, 'share', 'culvert', 'inside.js')]);
      const look = talk(fresh);
      try {
        await look({ do: 'find', name: 'Looking for Culvert’s background service.' });
        const call = ['call', '--session', '--dest', 'org.culvert.Culvert', '--object-path', '/org/culvert/Culvert'];
        const method = ['--method', 'org.gtk.Actions.Activate', action, '[]', '{}'];
        execFileSync('gdbus', [...call, ...method], { env: another.env });
        slow.pass();
        await look({ do: 'find', name: shown });
      } finally {
        await another.close();
        slow.close();
        await service.stop();
      }
    }
  });

  test('the first steps are shown until they were seen, and can be left at each', async () => {
    const ways = [
      [['Next', 'Previous', 'Next', 'Next', 'Done'], 'Done'],
      [['Next', 'Previous', 'Skip'], 'Skip'],
    ] as const;
    for (const [presses, left] of sample(ways, 1)) {
      const another = await openDesktop();
      const service = createDaemon(another.socket);
      service.config.config.ui.firstSteps = true;
      await service.listen();
      const look = talk(another.start('gjs', ['-m', join(another.prefix, 'share', 'culvert', 'inside.js')]));
      try {
        await look({ do: 'find', name: 'What WARP does' });
        for (const name of presses) await look({ do: 'press', name });
        await look({ do: 'gone', name: left });
        await look({ do: 'find', name: 'Connect' });
        await until(() => service.asked.length > 0, 'the request to remember it');
        assert.deepEqual(service.asked[0]?.body, { ui: { firstSteps: false } });
        service.config.config.ui.firstSteps = false;
        await look({ do: 'turn', name: 'welcome' });
        await look({ do: 'find', name: 'What WARP does' });
      } finally {
        await another.close();
        await service.stop();
      }
    }
  });

  test('a page that a panel is started for is turned to, and one whose code is gone is named', async () => {
    for (const [gone, shown] of [
      [false, 'Reset all settings of WARP'],
      [true, 'A part of Culvert is missing. Close and open this window, or install Culvert again.'],
    ] as const) {
      const another = await openDesktop();
      const service = createDaemon(another.socket);
      await service.listen();
      const share = join(another.prefix, 'share', 'culvert');
      if (gone) rmSync(join(share, 'inside-further-pages.js'));
      const flags = ['--gapplication-service'];
      const look = talk(another.start('gjs', ['-m', join(share, 'inside.js'), ...flags]));
      try {
        await look({ do: 'names' });
        const call = ['call', '--session', '--dest', 'org.culvert.Culvert', '--object-path', '/org/culvert/Culvert'];
        const method = ['--method', 'org.gtk.Actions.Activate', 'advanced', '[]', '{}'];
        execFileSync('gdbus', ['wait', '--session', 'org.culvert.Culvert'], { env: another.env });
        execFileSync('gdbus', [...call, ...method], { env: another.env });
        if (gone) await look({ do: 'press', name: 'Details' });
        await look({ do: 'find', name: shown });
      } finally {
        await another.close();
        await service.stop();
      }
    }
  });

  test('a panel that is ended while it still loads pages ends in order', async () => {
    const another = await openDesktop();
    try {
      const share = join(another.prefix, 'share', 'culvert');
      const code = join(share, 'inside-further-pages.js');
      rmSync(code);
      execFileSync('mkfifo', [code]);
      const fresh = another.start('gjs', ['-m', join(share, 'inside.js')]);
      const look = talk(fresh);
      const source = await until(() => openToWrite(code), 'the panel reads the code');
      await look({ do: 'press', name: 'Main Menu' });
      await look({ do: 'press', name: 'Quit Culvert' });
      closeSync(source);
      assert.equal(await fresh.exited, 0, fresh.output());
    } finally {
      await another.close();
    }
  });
});

/** Listens on `socket`, and passes what connects on to `behind` only once that is said. */
async function holdBack(socket: string, behind: string) {
  const held: Socket[] = [];
  let passing = false;
  const pass = (client: Socket) => {
    const server = connect(behind);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const)
      from.on('error', () => to.destroy()).pipe(to);
  };
  mkdirSync(dirname(socket), { recursive: true });
  const server = createServer(client => (passing ? pass(client) : held.push(client))).listen(socket);
  await once(server, 'listening');
  return {
    pass() {
      passing = true;
      held.forEach(pass);
    },
    close: () => server.close(),
  };
}
