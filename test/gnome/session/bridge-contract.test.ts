// The contract over a real bus, generated from the description that is installed: each member, each error, and their order.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Snapshot } from '../../../daemon/api/schema.ts';
import { ERRORS } from '../../../gnome/session/failures.ts';
import { type Bus, type Home, makeHome, missing, startBus, VERSION } from '../../support/gnome/bridge.ts';
import { createDaemon, type FakeDaemon, problem } from '../../support/gnome/daemon.ts';
import type { Ask } from '../../support/gnome/desktop.ts';
import { change, KILL_SWITCH } from '../../support/gnome/initial.ts';
import { until } from '../../support/until.ts';

const XML = readFileSync('data/org.culvert.Client1.xml', 'utf8');
const attributes = (element: string) =>
  [...XML.matchAll(new RegExp(`<${element} ([^>]*)>`, 'g'))].map(([, text]) =>
    Object.fromEntries([...text!.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!])),
  );
const PROPERTIES = attributes('property');
const METHODS = attributes('method').map(({ name }) => name!);

interface Refusal {
  name: string;
  text: string;
}
type Values = Record<string, unknown>;

const MODE = change('mode', { value: 'doh', confirmBy: new Date(Date.now() + 60_000).toISOString() });
const PAUSE = change('connection', { value: 'off', endsAt: '2030-01-01T00:00:00.000Z' });

interface Case {
  /** In GVariant's text form. */
  args?: string;
  /** The state before, other than a connected tunnel. */
  status?: Partial<Snapshot['status']>;
  changes?: Snapshot['changes'];
  /** The mode before, other than warp. */
  mode?: string;
  /** Requests that the daemon gets. */
  asked?: unknown[];
  /** Calls that the window gets. */
  window?: unknown[];
  /** Properties after it. */
  shows?: Values;
}

/** A call of each method. */
const CALLS: Record<string, Case> = {
  Connect: { status: { state: 'disconnected' }, asked: [{ action: 'connect' }], shows: { State: 'connected' } },
  Disconnect: { asked: [{ action: 'disconnect' }], shows: { State: 'disconnected' } },
  Pause: {
    args: '(uint32 900,)',
    asked: [{ action: 'disconnect', forSeconds: 900 }],
    shows: { State: 'disconnected' },
  },
  Resume: {
    status: { state: 'disconnected' },
    changes: [PAUSE],
    asked: [{ line: 'POST /api/changes/revert', body: { subject: 'connection' } }],
    shows: { State: 'connected' },
  },
  SetMode: {
    args: "('doh', {'for': <uint32 60>, 'confirm-within': <uint32 30>})",
    asked: [{ action: 'setMode', value: 'doh', forSeconds: 60, confirmWithin: 30 }],
    shows: { Mode: 'doh' },
  },
  SetKillSwitch: {
    args: "(true, {'confirm-within': <uint32 30>})",
    asked: [{ line: 'POST /api/killswitch', body: { enabled: true, allowLan: false, confirmWithin: 30 } }],
    shows: { KillSwitch: 'on' },
  },
  Keep: { changes: [MODE], asked: [{ line: 'POST /api/changes/confirm', body: { subject: 'mode' } }] },
  Revert: {
    changes: [MODE],
    mode: 'doh',
    asked: [{ line: 'POST /api/changes/revert', body: { subject: 'mode' } }],
    shows: { Mode: 'warp' },
  },
  Remedy: {
    args: "({'activation-token': <'token-0'>},)",
    status: { state: 'unknown', reason: { code: 'ProgramFailed', text: '' }, raw: '' },
    window: [['Activate', { 'activation-token': 'token-0' }]],
  },
  Refresh: {},
  Open: {
    args: "('updates', {'activation-token': <'token-1'>})",
    window: [['ActivateAction', 'updates', [], { 'activation-token': 'token-1' }]],
  },
};

describe('org.culvert.Client1', { skip: missing(), concurrency: false }, () => {
  let home: Home;
  let bus: Bus;
  let daemon: FakeDaemon;
  let ask: Ask;
  const ends: (() => unknown)[] = [];
  const file = { after: (end: () => unknown) => void ends.unshift(end) };
  const all = () => ask({ do: 'all' }) as Promise<Values>;
  const call = (method: string, args = '()') => ask({ do: 'call', method, args }) as Promise<Refusal | null>;
  const changes = async (): Promise<Values[]> => (await ask({ do: 'changes' })) as Values[];
  const shows = (what: Values) =>
    until(async () => {
      const values = await all();
      return Object.entries(what).every(([name, value]) => values[name] === value);
    }, JSON.stringify(what));
  /** Each action has its effect immediately. */
  const obey = () => {
    daemon.onAction = request => {
      if (request.action === 'connect') daemon.set('status', { state: 'connected' });
      else if (request.action === 'disconnect') daemon.set('status', { state: 'disconnected' });
      else if (request.action === 'setMode') daemon.set('settings', { Mode: request.value });
    };
  };

  /** Publishes the value to which a change reverts, after the reply. */
  const returned = (subject: string) => {
    if (subject === 'mode') daemon.set('settings', { Mode: 'warp' });
    else daemon.set('status', { state: 'connected' });
  };

  before(async () => {
    home = makeHome(file);
    bus = await startBus(file, home);
    daemon = createDaemon(home.socket);
    daemon.onAsked = ({ line, body }) => {
      if (line === 'POST /api/changes/revert') setTimeout(returned, 200, (body as { subject: string }).subject);
      if (line !== 'POST /api/killswitch') return { ok: true, changes: [] };
      daemon.set('killSwitch', { ...(body as object), active: true });
      return { ok: true, ...daemon.snapshot.killSwitch };
    };
    daemon.answers['GET /api/version'] = { version: VERSION };
    await daemon.listen();
    file.after(() => daemon.stop());
    ({ ask } = bus.caller());
  });
  after(async () => {
    for (const end of ends) await end();
  });
  beforeEach(async () => {
    obey();
    daemon.actions = [];
    daemon.asked = [];
    daemon.setChanges([]);
    daemon.set('tunnelCli', { emulated: false });
    daemon.set('settings', { Mode: 'warp' });
    daemon.set('tunnel', { latencyMs: null, colo: null });
    daemon.set('status', { state: 'disconnected', reason: null, blocked: null, raw: 'x' });
    await shows({ State: 'disconnected', Latency: 0, Mode: 'warp' });
    await until(async () => Object.keys((await all()).Pending as object).length === 0, 'nothing pending');
    await ask({ do: 'changes' });
  });

  test('a call starts the bridge, and the first answer has the state', async () => {
    daemon.set('status', { state: 'connected' });
    const first = bus.caller();
    const { State, Version } = (await first.ask({ do: 'all' })) as Values;
    assert.deepEqual([State, Version], ['connected', VERSION]);
    await first.program.kill();
  });

  test('each property is read with the type of the description, alone and among all', async () => {
    daemon.set('status', { state: 'connected', since: '2026-01-02T03:04:05.000Z' });
    daemon.set('tunnel', { latencyMs: 12.5, colo: 'FRA' });
    daemon.setChanges([MODE]);
    await shows({ State: 'connected', Latency: 12.5, Location: 'Frankfurt', LocationCode: 'FRA' });
    await until(async () => Object.keys((await all()).Pending as object).length > 0, 'a change is pending');
    const values = await all();
    assert.deepEqual(Object.keys(values).sort(), PROPERTIES.map(({ name }) => name).sort());
    for (const { name, type, access } of PROPERTIES) {
      assert.equal(access, 'read', name);
      assert.deepEqual(await ask({ do: 'get', name }), { type, value: values[name!] }, name);
    }
    assert.equal(values.Since, Date.parse('2026-01-02T03:04:05.000Z') * 1000);
    assert.deepEqual(values.Pending, {
      what: ['mode'],
      text: 'Mode: DNS only',
      until: Date.parse(MODE.confirmBy!) * 1000,
    });
  });

  test('each method asks the daemon for what it says, and returns when the effect shows', async () => {
    assert.deepEqual(Object.keys(CALLS).sort(), [...METHODS].sort());
    const window = bus.caller();
    await window.ask({ do: 'take', name: 'org.culvert.Culvert' });
    for (const [
      method,
      { args, status, changes = [], mode = 'warp', asked = [], window: opened = [], shows: after },
    ] of Object.entries(CALLS)) {
      daemon.set('killSwitch', { ...KILL_SWITCH, enabled: false, active: false });
      daemon.set('settings', { Mode: mode });
      daemon.set('status', { state: 'connected', raw: 'x', ...status });
      daemon.setChanges(changes);
      // the last that the daemon sends
      daemon.set('account', { type: method });
      await shows({ Account: method.toLowerCase() });
      daemon.actions = [];
      daemon.asked = [];
      const { reads } = daemon;
      assert.equal(await call(method, args), null, method);
      assert.deepEqual([...daemon.actions, ...daemon.asked], asked, method);
      assert.deepEqual(await window.ask({ do: 'taken' }), opened, method);
      if (method === 'Refresh') assert.ok(daemon.reads > reads);
      const values = await all();
      for (const [name, value] of Object.entries(after ?? {})) assert.equal(values[name], value, method);
    }
  });

  test('a state or a mode that is there already is not asked for', async () => {
    assert.equal(await call('Disconnect'), null);
    assert.equal(await call('SetMode', "('warp', @a{sv} {})"), null);
    daemon.set('status', { state: 'connected' });
    await shows({ State: 'connected' });
    assert.equal(await call('Connect'), null);
    assert.deepEqual(daemon.actions, []);
  });

  test('a mode or a connection for a while is asked for again, so that it stays', async () => {
    const obeyed = daemon.onAction;
    daemon.onAction = request => {
      daemon.setChanges([]);
      return obeyed(request);
    };
    daemon.set('settings', { Mode: 'doh' });
    daemon.setChanges([MODE]);
    await until(async () => Object.keys((await all()).Pending as object).length > 0, 'the change');
    assert.equal(await call('SetMode', "('doh', @a{sv} {})"), null);
    daemon.set('status', { state: 'connected' });
    daemon.setChanges([change('connection', { value: 'on', confirmBy: MODE.confirmBy })]);
    await until(async () => Object.keys((await all()).Pending as object).length > 0, 'the connection');
    assert.equal(await call('Connect'), null);
    assert.deepEqual(daemon.actions, [{ action: 'setMode', value: 'doh' }, { action: 'connect' }]);
  });

  test('each error has its name and a sentence', async () => {
    const refuse = (code: Parameters<typeof problem>[0], status: number) => async () => {
      daemon.onAction = () => {
        throw problem(code, status, 'A sentence.');
      };
      return call('Connect');
    };
    const provoked: Record<(typeof ERRORS)[number], () => Promise<Refusal | null>> = {
      NotAllowed: refuse('not-authorized', 409),
      Refused: refuse('tunnel-cli-failed', 502),
      TimedOut: refuse('tunnel-cli-timeout', 504),
      Failed: refuse('internal-error', 500),
      InvalidArgument: () => call('Pause', '(uint32 0,)'),
      UnknownMode: () => call('SetMode', "('fast', @a{sv} {})"),
      UnknownPage: () => call('Open', "('nowhere', @a{sv} {})"),
      NothingPending: () => call('Keep'),
      async Busy() {
        let go = () => {};
        daemon.onAction = () => new Promise<void>(resolve => (go = resolve));
        const other = bus.caller();
        const first = other.ask({ do: 'call', method: 'Connect' });
        await until(() => daemon.actions.length === 1, 'the first call');
        const second = (await call('Disconnect')) ?? (await call('Pause', '(uint32 60,)'));
        daemon.set('status', { state: 'connected' });
        go();
        await first;
        await other.program.kill();
        return second;
      },
      async NotRunning() {
        await daemon.stop();
        await shows({ State: 'unknown' });
        const refusal = await call('Connect');
        await daemon.listen();
        return refusal;
      },
    };
    assert.deepEqual(Object.keys(provoked).sort(), [...ERRORS].sort());
    for (const [name, provoke] of Object.entries(provoked)) {
      const refusal = await provoke();
      assert.equal(refusal?.name, `org.culvert.Error.${name}`);
      assert.match(refusal.text, /^\S.*\.$/);
      daemon.actions = [];
    }
    await shows({ State: 'connected' });
  });

  test('options and values that a method does not have are refused', async () => {
    for (const [method, args] of [
      ['SetMode', "('doh', {'For': <uint32 60>})"],
      ['SetMode', "('doh', {'for': <'60'>})"],
      ['SetMode', "('doh', {'confirm-within': <uint32 601>})"],
      ['SetKillSwitch', "(true, {'for': <uint32 60>})"],
      ['Pause', '(uint32 604801,)'],
    ] as const)
      assert.equal((await call(method, args))?.name, 'org.culvert.Error.InvalidArgument', args);
    assert.deepEqual(daemon.actions, []);
  });

  test('a thousand changes arrive one by one and in order, each with what changed alone', async () => {
    daemon.set('status', { state: 'connected' });
    await shows({ State: 'connected' });
    await changes();
    const expected: Values[] = [];
    for (let i = 1; i <= 1000; i++) {
      if (i % 100 === 0) {
        const mode = i % 200 ? 'doh' : 'warp';
        daemon.set('settings', { Mode: mode });
        expected.push({ Mode: mode, ModeText: mode === 'doh' ? 'DNS only' : 'All traffic' });
      } else {
        daemon.set('tunnel', { latencyMs: i });
        expected.push({ Latency: i });
      }
    }
    const seen: Values[] = [];
    await until(
      async () => {
        seen.push(...(await changes()));
        return seen.length >= 1000;
      },
      () => `1,000 changes, not ${seen.length}`,
    );
    assert.deepEqual(seen, expected);
  });

  test('news come as notices after the properties', async () => {
    daemon.set('status', { state: 'connected' });
    await shows({ State: 'connected' });
    await ask({ do: 'notices' });
    daemon.set('status', { state: 'disconnected' });
    const notices: unknown[] = [];
    await until(async () => {
      notices.push(...((await ask({ do: 'notices' })) as unknown[]));
      return notices.length;
    }, 'a notice');
    assert.deepEqual(notices, [
      ['connection', 'Disconnected', { body: 'You are not protected. Your traffic bypasses WARP.' }],
    ]);
    assert.equal(await call('Connect'), null);
    assert.equal(await call('Disconnect'), null);
    assert.equal((await all()).State, 'disconnected');
    assert.deepEqual(await ask({ do: 'notices' }), [], 'none of a change that a caller asked for');
  });

  test('busctl and gdbus show each member', async () => {
    const target = ['org.culvert.Client1', '/org/culvert/Client1'];
    const run = promisify(execFile);
    const members = [...attributes('(?:property|method|signal)').map(({ name }) => name!)];
    const busctl = await run('busctl', ['--user', 'introspect', ...target, 'org.culvert.Client1'], { env: bus.env });
    for (const name of members) assert.match(busctl.stdout, new RegExp(`^\\.${name} `, 'm'));
    const words = ['introspect', '--session', '-d', target[0]!, '-o', target[1]!];
    const gdbus = await run('gdbus', words, { env: bus.env });
    for (const name of members) assert.match(gdbus.stdout, new RegExp(`\\b${name}\\b`));
  });

  describe('the examples of the manual page', () => {
    /** Each as it reads on the page. */
    const examples = [...readFileSync('data/org.culvert.Client1.5', 'utf8').matchAll(/^\.EX\n([\s\S]*?)^\.EE$/gm)].map(
      ([, text]) => text!.replaceAll('\\-', '-').replaceAll('\\e', '\\'),
    );
    const starting = (line: string) => examples.find(text => text.startsWith(line))!;

    test('the command that reads everything works', () => {
      const text = execFileSync('sh', ['-c', starting('busctl')], { env: bus.env, encoding: 'utf8' });
      assert.match(text, /\.StatusText +property/);
    });

    test('the script in Bash has about ten lines, prints the state, and toggles', async () => {
      const run = promisify(execFile);
      const script = starting('#!/bin/bash');
      assert.ok(script.trim().split('\n').length <= 11);
      const print = async (...words: string[]) =>
        (await run('bash', ['-c', script, 'warp', ...words], { env: bus.env })).stdout;
      assert.equal(await print(), 'disconnected: Disconnected\n');
      assert.equal(await print('toggle'), 'connected: Connected\n');
      assert.equal(await print('toggle'), 'disconnected: Disconnected\n');
      daemon.set('status', { state: 'connecting' });
      await shows({ State: 'connecting' });
      assert.equal(await print(), 'connecting: Connecting…\n', 'busctl writes it as octal numbers');
    });

    test('the script in GJS prints a line for each change', async () => {
      const file = join(home.directory, 'follow.js');
      writeFileSync(file, starting('#!/usr/bin/gjs'));
      const program = bus.start('gjs', ['-m', file]);
      await until(
        () => program.stdout() === 'disconnected Disconnected\n',
        () => program.output(),
      );
      daemon.set('status', { state: 'connecting' });
      await until(
        () => program.stdout().endsWith('\nconnecting Connecting…\n'),
        () => program.output(),
      );
      await program.kill();
    });
  });

  test('the manual page names each member and each error', () => {
    const page = readFileSync('data/org.culvert.Client1.5', 'utf8').replaceAll('\\-', '-');
    const names = [...attributes('(?:property|method|signal)').map(({ name }) => name!), ...ERRORS];
    for (const name of names) assert.match(page, new RegExp(`\\b${name}\\b`));
  });
});
