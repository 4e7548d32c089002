// A source of releases on loopback that can be made hostile, and an updater that asks it, in a temporary home.
import { spawnSync } from 'node:child_process';
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import * as fs from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { loadConfig } from '../../../daemon/config/layers.ts';
import type { FeatureContext } from '../../../daemon/controls.ts';
import { createState, type Published } from '../../../daemon/state/store.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { createUpdates, type UpdaterOptions, type Updates } from '../../../daemon/update/update.ts';
import type { Tunnel } from '../../../daemon/warp/tunnel.ts';
import { keyId, type VerifyKey } from '../../../manifest/keys.ts';
import { day, key, pem, STATEMENT, seal } from '../manifest/release.ts';
import { removeTree, temporary } from '../temporary.ts';

export { temporary };

export interface Ends {
  after(end: () => unknown): unknown;
}

export const MANIFEST = 'release-manifest.v1.json';
export const SIDECAR = `${MANIFEST}.sig`;
/** The keys that the tests' builds trust. */
export const trusted: VerifyKey[] = [{ id: keyId(key), name: 'test', key: createPublicKey(pem(key)) }];

/** An empty file system of 8 MiB, or null if this user may not mount one. */
export function smallDisk(t: Ends): string | null {
  const disk = fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-update-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk]).status === 0;
  t.after(() => {
    if (mounted) spawnSync('umount', [disk]);
    removeTree(disk);
  });
  return mounted ? disk : null;
}

export type Serve = (request: IncomingMessage, response: ServerResponse) => void;

export interface Source {
  /** For `updates.source`. */
  url: string;
  /** By path, `/stable/name`. */
  files: Map<string, Buffer | Serve>;
  /** Paths that were asked for. */
  asked: string[];
}

/** Serves files as they are, or as a function answers. */
export async function createSource(t: Ends): Promise<Source> {
  const files: Source['files'] = new Map();
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    asked.push(request.url!);
    const file = files.get(request.url!);
    if (typeof file === 'function') return file(request, response);
    if (!file) return response.writeHead(404, { 'content-length': 0 }).end();
    return response.writeHead(200, { 'content-length': file.length }).end(file);
  });
  server.on('connection', socket => {
    sockets.add(socket);
    socket.on('error', () => {}); // clients that have seen enough leave
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/releases`, files, asked };
}

export interface Release {
  version: string;
  /** The manifest's object, to be changed and published again. */
  object: Record<string, unknown> & { artifacts: Record<string, unknown>[] };
  statement: Record<string, unknown>;
}

/** Puts a signed release with these artifacts into a source. */
export function publish(
  source: Source,
  version: string,
  artifacts: Record<string, Buffer>,
  { channel = 'stable', serial = 12, signer = key }: { channel?: string; serial?: number; signer?: KeyObject } = {},
): Release {
  for (const [name, content] of Object.entries(artifacts)) source.files.set(`/releases/${channel}/${name}`, content);
  const release: Release = {
    version,
    object: {
      schema: 'https://culvert.example/schemas/release-manifest.v1.json',
      project: 'culvert',
      tag: `v${version}`,
      generated_at: day(-1),
      artifacts: Object.entries(artifacts).map(([name, content]) => ({
        name,
        size: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
      })),
    },
    statement: { ...STATEMENT, channel, serial },
  };
  const manifest = Buffer.from(JSON.stringify(release.object));
  serve(source, channel, manifest, seal(manifest, release.statement, signer));
  return release;
}

/** Puts these bytes there as the manifest of the stable channel, signed. */
export function write(source: Source, manifest: Buffer, statement: unknown, signer: KeyObject = key): void {
  serve(source, 'stable', manifest, seal(manifest, statement, signer));
}

function serve({ files }: Source, channel: string, manifest: Buffer, sidecar: ReturnType<typeof seal>): void {
  files.set(`/releases/${channel}/${MANIFEST}`, manifest);
  files.set(`/releases/${channel}/${SIDECAR}`, sidecar);
}

export interface Updater {
  updates: Updates;
  home: string;
  env: NodeJS.ProcessEnv;
  state: string;
  events: Published[];
  said: string[];
  /** Number of restarts that the daemon asked for. */
  restarts(): number;
}

/** An updater for a home, with this environment besides HOME and PATH. */
export async function createUpdater(
  t: Ends,
  source: Source,
  means: Partial<UpdaterOptions>,
  { home = temporary(t), env: more = {} }: { home?: string; env?: Record<string, string> } = {},
): Promise<Updater> {
  const env = { PATH: process.env.PATH!, HOME: home, ...more };
  const where = { ...paths(env), systemConfig: path.join(home, 'no-system.json') };
  const settings = await loadConfig(
    { system: where.systemConfig, user: where.userConfig },
    { CULVERT_UPDATES_SOURCE: source.url, ...more },
  );
  const state = createState({ available: false, path: null, version: null, emulated: true });
  const events: Published[] = [];
  state.subscribe(event => void events.push(event));
  const said: string[] = [];
  let restarts = 0;
  const context: FeatureContext = {
    env,
    paths: where,
    state,
    settings,
    tunnel: {} as Tunnel, // updates have nothing to do with it
    say: line => void said.push(line),
    restart: () => void restarts++,
  };
  const updates = createUpdates(context, { version: '1.0.0', trust: () => ({ keys: trusted }), ...means });
  t.after(() => updates.stop());
  return { updates, home, env, state: where.state, events, said, restarts: () => restarts };
}

/** A program that says of itself what a built Culvert says; it passes for an AppImage. */
export function script(version: string): Buffer {
  return Buffer.from(`#!/bin/sh\n[ "$1" != --version ] || echo 'culvert ${version}'\n# ${'.'.repeat(2_000)}\n`);
}
