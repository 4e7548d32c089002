// Apps of this desktop: listed, started through the local proxy, and given shortcuts.
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { App, LaunchRequest, LaunchResponse, ShortcutRequest, ShortcutResponse } from '../api/schema.ts';
import type { AppsControl, Ground } from '../features.ts';
import { replaceFile } from '../instance.ts';
import { Problem } from '../problem.ts';
import { probeProxy } from '../warp/probe.ts';
import { applicationDirectories, type Catalog, createCatalog, type Found, readFileSafely } from './catalog.ts';
import { createDescriber, type Described, type Kind } from './describe.ts';
import { type Entry, flag, localeKeys, messageLocales, parseEntry, text } from './entry.ts';
import { listShortcuts, removeShortcut, shortcutPath, writeShortcut } from './shortcuts.ts';

const PROBE_MS = 3000;

export interface Desktop extends Omit<AppsControl, 'start'> {
  /** Shortcuts become what their originals are now, and go where those went. Never rejects. */
  renew(): Promise<void>;
}

/**
 * @param dataHome `$XDG_DATA_HOME`, where shortcuts lie; null for no place
 * @param launcher absolute path of `culvert`, which shortcuts start
 */
export function createDesktop(ground: Ground, dataHome: string | null, launcher: string): Desktop {
  const { env, paths, state, settings, tunnel, say } = ground;
  let catalog: Catalog<Kind> | null = null;
  let locales: readonly string[] = [];
  let renewing: Promise<void> | undefined;
  /** The last list, good as long as nothing else was found. */
  let latest: { found: ReadonlyMap<string, Found<Kind>>; apps: App[] } | null = null;

  return { stop, list, launch, setShortcut, renew };

  async function stop(): Promise<void> {
    catalog?.close();
    await renewing;
  }

  async function read(): Promise<ReadonlyMap<string, Found<Kind>>> {
    const { config, sources } = settings.response();
    const chosen = sources['ui.locale'] === 'default' ? null : config.ui.locale;
    const keys = localeKeys(messageLocales(env, chosen));
    if (!catalog || keys.join() !== locales.join()) {
      catalog?.close();
      locales = keys;
      catalog = createCatalog({
        directories: applicationDirectories(env),
        programs: (env.PATH ?? '').split(':'),
        locales,
        describer: () => createDescriber({ env, locales: keys }),
        lasts: value => value.kind === 'shortcut' || !value.missing,
      });
    }
    return catalog.read();
  }

  async function list(): Promise<App[]> {
    const found = await read();
    if (latest?.found === found) return latest.apps;
    const shortcuts = shortcutsOf(found);
    if (shortcuts.size > 0) void renew();
    const collator = new Intl.Collator(locales.find(key => /^[a-z]{2,3}$/.test(key)) ?? 'en');
    const apps = [...found.values()]
      .flatMap(({ value }) => (value.kind === 'shown' ? [listed(value.app, shortcuts)] : []))
      .sort((a, b) => collator.compare(a.name, b.name) || (a.id < b.id ? -1 : 1));
    latest = { found, apps };
    return apps;
  }

  function listed({ family: _, ...app }: Described, shortcuts: ReadonlyMap<string, string>): App {
    return { ...app, shortcut: shortcuts.get(app.id) ?? null };
  }

  /** The app of an id, with its desktop entry. @throws Problem */
  async function find(id: string): Promise<{ app: Described; entry: Entry; path: string }> {
    const found = (await read()).get(id);
    const entry = found?.value.kind === 'shown' ? readEntry(found.path) : null;
    if (found?.value.kind !== 'shown' || !entry)
      throw new Problem('app-not-found', `There is no app "${id}" on this desktop.`, {
        hint: 'Its id is the name of its desktop file, as in the list of apps.',
      });
    const { app } = found.value;
    if (app.method === 'none')
      throw new Problem('app-not-launchable', `${app.name} can’t be started through the proxy. ${app.note}`);
    return { app, entry, path: found.path };
  }

  // ── launching ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async function launch({ appId, shortcut, verify }: LaunchRequest): Promise<LaunchResponse> {
    const { app, entry, path } = await find(appId);
    const proxy = await openProxy();
    if (verify) await verifyTunnel(proxy.port);
    const pid = await launchThrough(app, entry, path, proxy);
    const { host, port } = proxy;
    const made = shortcut ? (await setShortcut({ appId, present: true })).shortcut : await shortcutOf(appId);
    return { ok: true, appId, pid, proxy: { host, port }, shortcut: made };
  }

  /** @throws Problem proxy-not-enabled, proxy-not-answering */
  async function openProxy() {
    await tunnel.refresh('stale');
    const { settings: now, tunnel: facts, status } = state.snapshot();
    const hint = 'Switch it on with the action enableLocalProxy.';
    if (now.Mode !== 'proxy' || facts.proxyPort === null)
      throw new Problem('proxy-not-enabled', 'The local proxy is off, so nothing was started.', { hint });
    const port = facts.proxyPort;
    const { open, socks5, http } = await probeProxy(port, PROBE_MS);
    // While the tunnel is down, whatever listens there is not its proxy.
    if (!open || (status.state !== 'connected' && status.state !== 'connecting'))
      throw new Problem(
        'proxy-not-enabled',
        `The mode is proxy, but the tunnel is ${status.state}${open ? '' : ` and nothing listens on 127.0.0.1:${port}`}. Nothing was started.`,
        { hint },
      );
    if (!socks5)
      throw new Problem(
        'proxy-not-answering',
        `127.0.0.1:${port} is open, but does not answer as a SOCKS5 proxy. Nothing was started.`,
      );
    return { host: '127.0.0.1' as const, port, http };
  }

  async function verifyTunnel(port: number): Promise<void> {
    const { traceThrough } = await import('./trace.ts');
    const { through, seen } = await traceThrough(port, settings.config.warp.traceUrl, env);
    if (!through)
      throw new Problem(
        'proxy-not-verified',
        `It could not be verified that the proxy leads through the tunnel: ${seen}. Nothing was started.`,
      );
  }

  async function launchThrough(
    app: Described,
    entry: Entry,
    path: string,
    proxy: Awaited<ReturnType<typeof openProxy>>,
  ) {
    const [exec, { recipeFor, fileNameOf }, launching, { findProgram }] = await Promise.all([
      import('./exec.ts'),
      import('./recipe.ts'),
      import('./launch.ts'),
      import('./programs.ts'),
    ]);
    const fields = { name: app.name, icon: app.icon, file: path };
    const args = exec.expandFields(exec.splitExec(text(entry, 'Exec')!), fields);
    const located = exec.locateProgram(args);
    const session = launching.sessionEnv(env);
    const busName = flag(entry, 'DBusActivatable') ? app.id.replace(/\.desktop$/, '') : null;
    await refuseRunning(
      app,
      located.packaging === 'native' ? findProgram(args[located.at]!, session.PATH ?? '') : null,
      busName,
      session,
    );

    const places = { home: session.HOME ?? '/', state: paths.state };
    const recipe = recipeFor(app, args, located, proxy, places);
    try {
      for (const file of recipe.files) {
        mkdirSync(dirname(file.path), { recursive: true, mode: 0o700 });
        replaceFile(file.path, file.text);
      }
      return await launching.launch(
        {
          argv: recipe.argv,
          env: recipe.env,
          directory: text(entry, 'Path') || null,
          terminal: flag(entry, 'Terminal'),
          label: fileNameOf(app.id),
          description: `${app.name} (through WARP)`,
        },
        env,
      );
    } catch (cause) {
      const { message } = cause as Error;
      throw new Problem('app-launch-failed', `${app.name} did not start. ${message}`, {}, cause);
    }
  }

  /** A running instance would open the window itself, without the proxy. Browsers get a profile of their own instead. */
  async function refuseRunning(
    app: Described,
    binary: string | null,
    busName: string | null,
    session: NodeJS.ProcessEnv,
  ) {
    if (app.kind === 'chromium' || app.kind === 'firefox') return;
    const { ownsBusName, runsWithoutProxy } = await import('./running.ts');
    const runs =
      (app.kind === 'electron' && binary !== null && runsWithoutProxy(binary)) ||
      (busName !== null && (await ownsBusName(busName, session)));
    if (runs)
      throw new Problem(
        'app-launch-failed',
        `${app.name} runs already and would take the start over, around the proxy. Nothing was started.`,
        { hint: `Close ${app.name}, then try again.` },
      );
  }

  // ── shortcuts ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async function setShortcut({ appId, present }: ShortcutRequest): Promise<ShortcutResponse> {
    if (!dataHome)
      throw new Problem(
        'config-not-writable',
        'Neither XDG_DATA_HOME nor HOME is set, so there is no place for shortcuts.',
      );
    const path = shortcutPath(dataHome, appId);
    try {
      if (present) {
        const { entry, path: original } = await find(appId);
        writeShortcut(dataHome, { id: appId, path: original, entry }, launcher);
      } else {
        const all = listShortcuts(dataHome).filter(({ id }) => id === appId);
        if (all.length === 0 && !(await read()).has(appId)) await find(appId); // unknown altogether
        for (const own of all) removeShortcut(own.path);
      }
    } catch (cause) {
      if (cause instanceof Problem) throw cause;
      throw new Problem(
        'config-not-writable',
        `${path} could not be ${present ? 'written' : 'removed'}: ${(cause as Error).message}.`,
        { hint: 'Check the free space and the permissions of the directory.' },
        cause,
      );
    }
    return { ok: true, appId, shortcut: present ? path : null };
  }

  function shortcutsOf(found: ReadonlyMap<string, Found<Kind>>): Map<string, string> {
    const own = dataHome ? `${dataHome}/applications/` : null;
    return new Map(
      [...found.values()].flatMap(({ value }) =>
        value.kind === 'shortcut' && own && value.path.startsWith(own) ? [[value.of, value.path] as const] : [],
      ),
    );
  }

  async function shortcutOf(id: string): Promise<string | null> {
    return shortcutsOf(await read()).get(id) ?? null;
  }

  function renew(): Promise<void> {
    renewing ??= (async () => {
      const found = await read();
      for (const { id, path, original } of listShortcuts(dataHome!)) {
        const now = found.get(id);
        const entry = now?.value.kind === 'shown' ? readEntry(now.path) : null;
        if (now && entry) writeShortcut(dataHome!, { id, path: now.path, entry }, launcher);
        // not for an app that this session only doesn't show, or whose directory it doesn't know
        else if (!now && !existsSync(original)) removeShortcut(path);
      }
    })()
      .catch((error: Error) => say(`Shortcuts of apps could not be renewed: ${error.message}`))
      .finally(() => {
        renewing = undefined;
      });
    return renewing;
  }
}

function readEntry(path: string): Entry | null {
  return parseEntry(readFileSafely(path) ?? '');
}
