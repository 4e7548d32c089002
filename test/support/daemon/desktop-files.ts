// A fixture: apps of a temporary desktop, with a real proxy and a tunnel whose state the test sets.
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type test from 'node:test';
import type { ActionRequest } from '../../../daemon/api/actions.ts';
import type { LaunchRequest, ShortcutRequest } from '../../../daemon/api/schema.ts';
import { openApps } from '../../../daemon/apps/index.ts';
import { loadConfig } from '../../../daemon/config/layers.ts';
import { createProxy } from '../../../daemon/emulator/proxy.ts';
import { generationOf } from '../../../daemon/emulator/version.ts';
import { Problem } from '../../../daemon/problem.ts';
import { createState, NO_TUNNEL } from '../../../daemon/state/store.ts';
import { paths } from '../../../daemon/system/paths.ts';
import type { Tunnel } from '../../../daemon/warp/tunnel.ts';
import { removeTree } from '../temporary.ts';
import { until } from '../until.ts';

export const LAUNCHER = '/opt/a b/bin/culvert';

export async function createDesktop(t: test.TestContext, more: NodeJS.ProcessEnv = {}, traceUrl?: string) {
  const place = mkdtempSync(join(tmpdir(), 'culvert-desktop-'));
  const bin = join(place, 'bin');
  const data = join(place, 'data');
  const system = join(place, 'system');
  mkdirSync(bin);
  const env: NodeJS.ProcessEnv = {
    PATH: `${bin}:/usr/bin:/bin`,
    HOME: place,
    XDG_DATA_HOME: data,
    XDG_DATA_DIRS: system,
    XDG_STATE_HOME: join(place, 'state'),
    XDG_CONFIG_HOME: join(place, 'config'),
    LANG: 'C.UTF-8',
    ...more,
  };
  const { server, closeAllSockets } = createProxy({ generation: generationOf('2026.7.1377'), from: null, deaf: false });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const state = createState({ available: true, path: null, version: null, emulated: false });
  const settings = await loadConfig(
    { system: join(place, 'none.json'), user: join(place, 'config.json') },
    traceUrl ? { CULVERT_WARP_TRACE_URL: traceUrl } : {},
  );
  const proxy = (on: boolean) => {
    state.set('settings', { Mode: on ? 'proxy' : 'warp' });
    state.set('tunnel', { ...NO_TUNNEL, proxyPort: on ? port : null });
    state.set('status', { ...state.snapshot().status, state: on ? 'connected' : 'disconnected' });
  };
  /** A demo, which tunnels nothing, or not. */
  const demo = (on: boolean) => state.set('tunnelCli', { ...state.snapshot().tunnelCli, emulated: on });
  proxy(true);
  const said: string[] = [];
  const performed: ActionRequest[] = [];
  let unread = false;
  const where = paths(env);
  const feature = openApps(
    {
      env,
      paths: where,
      state,
      settings,
      tunnel: {
        refresh: () => Promise.resolve(),
        stale: () => (unread ? [{ part: 'settings', ageSeconds: 9 }] : []),
        async runAction(request: ActionRequest) {
          performed.push(request);
          if (request.action === 'setMode') state.set('settings', { Mode: request.value ?? '' });
        },
      } as unknown as Tunnel,
      say: line => said.push(line),
      restart: () => {},
    },
    LAUNCHER,
  );
  const { handlers } = feature;
  const query = undefined;
  const apps = {
    start: feature.start,
    list: async () => (await handlers['GET /api/apps']({ body: undefined, query })).apps,
    launch: async (body: LaunchRequest) => handlers['POST /api/apps/proxy-launcher']({ body, query }),
    setShortcut: async (body: ShortcutRequest) => handlers['POST /api/apps/shortcut']({ body, query }),
  };
  t.after(async () => {
    await feature.stop();
    server.close();
    closeAllSockets();
    removeTree(place);
  });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  return {
    apps,
    /** From now on nothing can be read. */
    hideSettings() {
      unread = true;
    },
    place,
    bin,
    data,
    env,
    port,
    proxy,
    demo,
    settings,
    said,
    /** Actions of the tunnel; a mode that is set shows in the state. */
    performed,
    state: where.state,
    /** Stops the proxy, whatever the tunnel says. */
    closeProxy() {
      server.close();
      closeAllSockets();
    },
    /** A desktop entry of the system, or of another directory. */
    entry(id: string, lines: string[], directory = join(system, 'applications')) {
      write(join(directory, `${id}.desktop`), ['[Desktop Entry]', 'Type=Application', ...lines, ''].join('\n'));
    },
    /** A program in PATH; without a body it records its arguments and environment, then waits a while. */
    program(name: string, body?: string) {
      const log = join(place, `${name}.log`);
      const recording = `for arg; do printf '%s\\0' "$arg"; done >'${log}.args'\nenv >'${log}.env'\npwd >'${log}.pwd'\nmv '${log}.args' '${log}'\nexec sleep 5`;
      const path = name.startsWith('/') ? name : join(bin, name);
      write(path, `#!/bin/sh\n${body ?? recording}\n`);
      chmodSync(path, 0o755);
      return path;
    },
    started,
    /** Arguments of a recording program, as soon as it has started. */
    async recorded(name: string): Promise<Started> {
      await until(() => started(name) !== null);
      return started(name)!;
    },
  };

  /** Arguments of a recording program; null until it has started. */
  function started(name: string): Started | null {
    try {
      const log = join(place, `${name}.log`);
      const args = readFileSync(log, 'utf8').split('\0').slice(0, -1);
      const lines = readFileSync(`${log}.env`, 'utf8').trim().split('\n');
      const env = Object.fromEntries(
        lines.map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
      );
      return { args, env, directory: readFileSync(`${log}.pwd`, 'utf8').trim() };
    } catch {
      return null;
    }
  }
}

interface Started {
  args: string[];
  env: Record<string, string>;
  directory: string;
}

export const problem =
  (code: string, detail = /./) =>
  (error: unknown) =>
    error instanceof Problem && error.code === code && detail.test(`${error.message} ${error.extras.hint ?? ''}`);
