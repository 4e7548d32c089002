// A tray that runs for a test file, on a private bus with a scripted host and a scripted daemon.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach } from 'node:test';
import { FRUGAL } from '../../../daemon/launcher.ts';
import { until } from '../until.ts';
import { createDaemon, type FakeDaemon } from './daemon.ts';
import { type Ask, type Desktop, openDesktop, type Running, startDriver } from './desktop.ts';

interface Entry {
  id: number;
  label?: string;
  type?: string;
  enabled?: boolean;
}
interface Item {
  sizes: [number, number, number][];
  picture: string;
  title: string;
  text: string;
  properties: string[];
}

export let desktop: Desktop;
export let daemon: FakeDaemon;
export let tray: Running;
export let ask: Ask;
export const item = () => ask({ do: 'item' }) as Promise<Item>;
export const menu = () => ask({ do: 'menu' }) as Promise<Entry[]>;
export const items = () => ask({ do: 'items' }) as Promise<string[]>;
export const title = (text: string) => until(async () => (await item()).title === text, `the tooltip "${text}"`);
export const asked = (count: number) => until(() => daemon.actions.length === count, `${count} actions`);
export const click = async (label: string) => {
  const entry = (await menu()).find(candidate => candidate.label === label);
  assert.ok(entry, `no "${label}" in the menu`);
  await ask({ do: 'click', id: entry.id });
};
export const startTray = (env: NodeJS.ProcessEnv = {}) =>
  desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'tray.js')], env);
export const program = (name: string, script: string) => {
  mkdirSync(join(desktop.prefix, 'bin'), { recursive: true });
  const path = join(desktop.prefix, 'bin', name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
};

/** Starts the tray before the tests of a suite, and ends it after them. */
export function useTray(): void {
  before(async () => {
    desktop = await openDesktop();
    daemon = createDaemon(desktop.socket);
    await daemon.listen();
    ask = startDriver(desktop, 'host.py');
    tray = startTray(FRUGAL);
    await until(() => daemon.streams() === 1, 'the stream');
    await until(() => /shows no tray icons/.test(tray.output()), 'the word about the missing host');
    await ask({ do: 'appear' });
    await until(async () => (await items()).length === 1, 'the registration');
  });
  beforeEach(async () => {
    daemon.onAction = () => {};
    daemon.actions = [];
    daemon.set('tunnelCli', { emulated: false });
    daemon.set('status', { state: 'disconnected', reason: null, blocked: null, raw: 'x' });
    if (tray.child.exitCode === null) await title('Disconnected');
  });
  after(async () => {
    await desktop.close();
    await daemon.stop();
  });
}
