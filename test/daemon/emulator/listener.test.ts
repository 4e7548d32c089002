// The listening child: what it prints, how soon, and what ends it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type Emulator, emulator } from '../../support/daemon/emulator.ts';

interface Line {
  text: string;
  /** ms of `performance.now()` */
  at: number;
}

describe('the emulated listener', () => {
  let it_: Emulator;
  let stop: () => Promise<unknown> = async () => {};
  beforeEach(async () => {
    it_ = await emulator({ program: true });
  });
  afterEach(async () => {
    await stop();
    await it_.remove();
  });

  /** Lines as they come; `next` fails after 10 s of silence, and when the listener ended. */
  function listen(...argv: string[]) {
    const child = it_.start(...argv);
    const lines: Line[] = [];
    let wake = () => {};
    let stderr = '';
    child.stderr.on('data', chunk => {
      stderr += chunk;
    });
    createInterface({ input: child.stdout }).on('line', text => {
      lines.push({ text, at: performance.now() });
      wake();
    });
    const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stderr }));
    void ended.then(() => wake());
    stop = () => {
      child.kill('SIGKILL');
      return ended;
    };
    const next = async (): Promise<Line> => {
      const deadline = performance.now() + 10_000;
      while (lines.length === 0) {
        if (performance.now() > deadline || child.exitCode !== null) throw new Error(`no line came; stderr: ${stderr}`);
        await new Promise<void>(resolve => {
          wake = resolve;
          setTimeout(resolve, 1000).unref();
        });
      }
      return lines.shift()!;
    };
    return { next, ended, child };
  }

  it('prints the status first, then every phase of a connection, one JSON object per line', async () => {
    it_.env.CULVERT_EMULATOR_CONNECT_MS = '150';
    const { next } = listen('--accept-tos', '-j', '-l', 'status');
    assert.equal((await next()).text, '{"status":"Disconnected","reason":"Manual"}');
    const asked = performance.now();
    await it_.run('connect');
    assert.equal((await next()).text, '{"update":"SettingsUpdated"}');
    const names: string[] = [];
    let last: Line;
    do {
      last = await next();
      const { reason } = JSON.parse(last.text);
      names.push(typeof reason === 'string' ? reason : Object.keys(reason)[0]!);
    } while (names.at(-1) !== 'NetworkHealthy');
    assert.deepEqual(names, [
      'PerformingHappyEyeballs',
      'EstablishingConnection',
      'PerformingConnectivityChecks',
      'NetworkHealthy',
    ]);
    assert.ok(last.at - asked >= 150, 'connected before the phases were over');
  });

  it('repeats the status block as text without -j', async () => {
    const { next } = listen('-l', 'status');
    assert.deepEqual(
      [(await next()).text, (await next()).text],
      ['Status update: Disconnected', 'Reason: Manual Disconnection'],
    );
    await it_.run('connect');
    assert.deepEqual([(await next()).text, (await next()).text], ['Status update: Connected', 'Network: healthy']);
  });

  it('says that settings changed, and nothing when nothing changed', async () => {
    const { next } = listen('-j', '-l', 'status');
    await next();
    await it_.run('dns', 'families', 'off');
    await it_.run('tunnel', 'host', 'add', 'a.example');
    assert.equal((await next()).text, '{"update":"SettingsUpdated"}');
    await it_.run('registration', 'delete');
    assert.match((await next()).text, /"RegistrationMissing"/);
  });

  it('reacts to faults that are set while it runs', async () => {
    await it_.run('connect');
    const { next, ended } = listen('-j', '-l', 'status');
    await next();
    await it_.control('fault=network-unstable');
    assert.match((await next()).text, /NetworkDegraded/);
    await it_.control('fault=no-network');
    assert.equal((await next()).text, '{"status":"Unable","reason":"NoNetwork"}');
    await it_.control('clear');
    assert.equal((await next()).text, '{"status":"Connected","reason":"NetworkHealthy"}');
    await it_.control('fault=service-down');
    const { code, stderr } = await ended;
    assert.deepEqual([code, stderr], [1, 'IPC client reached EOF, daemon connection lost\n']);
  });

  it('ends after the time of listener-exits, and immediately when the service is down', async () => {
    await it_.control('fault=listener-exits=20');
    const first = listen('-j', '-l', 'status');
    await first.next();
    assert.equal((await first.ended).code, 1);
    await it_.control('fault=service-down');
    const second = listen('-j', '-l', 'status');
    assert.match((await second.ended).stderr, /^Unable to connect to the CloudflareWARP daemon: No such file/);
  });

  it('ends at SIGTERM', async () => {
    const { next, ended, child } = listen('-j', '-l', 'status');
    await next();
    child.kill('SIGTERM');
    assert.equal((await ended).signal, 'SIGTERM');
  });

  it('notifies every listener', async () => {
    const all = [1, 2, 3].map(() => listen('-j', '-l', 'status'));
    stop = () => {
      for (const { child } of all) child.kill('SIGKILL');
      return Promise.all(all.map(each => each.ended));
    };
    await Promise.all(all.map(each => each.next()));
    await it_.run('connect');
    for (const each of all) {
      assert.equal((await each.next()).text, '{"update":"SettingsUpdated"}');
      assert.match((await each.next()).text, /"Connected"/);
    }
  });
});
