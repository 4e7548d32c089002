// Names this user's files and directories (XDG base directories).
import { APP_ID, NAME } from './installation.ts';

export interface Paths {
  /** Socket, daemon record and status line; 0700, gone at logout. */
  runtime: string;
  socket: string;
  /** Held by the running daemon. */
  lock: string;
  /** `{pid, port, version}` of the running daemon. */
  record: string;
  /** File that `culvert status` prints without starting Node. */
  statusFile: string;
  state: string;
  /** Held by the running daemon as well: two daemons with different runtime directories must not share the state. */
  stateLock: string;
  token: string;
  acceptedTerms: string;
  /** Present during a restart while WARP has accepted to connect, and has not connected. */
  connectWish: string;
  /** Present while the daemon is to start as a demo next. */
  demoRequest: string;
  /** Pending changes, which are to be reverted. */
  changes: string;
  /** A file of pending changes that could not be read, until the user has acknowledged that. */
  brokenChanges: string;
  /** Length of the user's last pause. */
  lastPause: string;
  /** The last documents of routes. */
  routes: string;
  /** Rules for networks, as the user wrote them. */
  networks: string;
  /** Changes by rules for networks, and the user's answers about them. */
  networksState: string;
  /** Directory of the history. */
  history: string;
  /** Directory of the organization's certificates for tools, and of the changes made for them. */
  trust: string;
  /** The settings that the last file of settings replaced. */
  settingsBefore: string;
  /** Desktop entry that starts the tray with the session. */
  autostart: string;
  /** XDG_CONFIG_HOME. */
  config: string;
  userConfig: string;
  systemConfig: string;
}

/**
 * Directories for an environment. Without XDG_RUNTIME_DIR (no login session) the state directory serves:
 * like it, it belongs to this user only, which nothing below /tmp would.
 * The launcher's `culvert status` in data/bin/culvert.in follows the same rule.
 * @param demo the emulator stands in for the tunnel client: what is remembered of its settings is kept apart, so that the
 *   next start with the real one takes nothing of it back.
 * @throws Error when neither HOME nor the XDG variables are set, or HOME depends on the current directory.
 */
export function paths(env: NodeJS.ProcessEnv, demo = false): Paths {
  // put together by hand: path.join goes over every character, and here that made V8 load its optimizing compiler, 4 MB
  const trimmed = (path: string) => path.replace(/\/+$/, '');
  const absolute = (path: string | undefined) => (path?.startsWith('/') ? trimmed(path) : undefined);
  const home = (below: string) => {
    if (!env.HOME) throw new Error('HOME is not set, so there is no place for configuration and state. Set HOME.');
    if (!env.HOME.startsWith('/'))
      throw new Error(`HOME is "${env.HOME}", and has to begin with a slash. Set HOME to your home directory.`);
    return `${trimmed(env.HOME)}/${below}`;
  };
  const state = `${absolute(env.XDG_STATE_HOME) ?? home('.local/state')}/${NAME}`;
  const ofTunnel = demo ? `${state}/demo` : state;
  const config = absolute(env.XDG_CONFIG_HOME) ?? home('.config');
  const session = absolute(env.XDG_RUNTIME_DIR);
  const runtime = session ? `${session}/${NAME}` : `${state}/run`;
  return {
    runtime,
    socket: `${runtime}/api.sock`,
    lock: `${runtime}/lock`,
    record: `${runtime}/daemon.json`,
    statusFile: `${runtime}/status`,
    state,
    stateLock: `${state}/daemon.lock`,
    token: `${state}/token`,
    acceptedTerms: `${state}/accepted-terms`,
    demoRequest: `${state}/start-demo`,
    connectWish: `${ofTunnel}/connect-wish`,
    changes: `${ofTunnel}/changes.json`,
    brokenChanges: `${ofTunnel}/changes.json.broken`,
    lastPause: `${ofTunnel}/last-pause.json`,
    routes: `${ofTunnel}/routes.json`,
    networks: demo ? `${ofTunnel}/networks.toml` : `${config}/${NAME}/networks.toml`,
    networksState: `${ofTunnel}/networks.json`,
    history: `${ofTunnel}/history`,
    trust: `${state}/trust`,
    settingsBefore: `${ofTunnel}/settings-before.toml`,
    config,
    autostart: `${config}/autostart/${APP_ID}.desktop`,
    userConfig: `${config}/${NAME}/config.json`,
    systemConfig: `/etc/${NAME}/config.json`,
  };
}
