// Returns the paths of this user's files and directories (XDG base directories).
import { APP_ID, NAME } from './installation.ts';

export interface Paths {
  /** Directory of the socket, daemon record and status line, with mode 0700; removed at logout. */
  runtime: string;
  socket: string;
  /** Lock that the running daemon holds. */
  lock: string;
  /** Record of the running daemon. */
  record: string;
  /** File that `culvert status` prints without starting Node. */
  statusFile: string;
  state: string;
  /** Second lock of the running daemon: two daemons with different runtime directories must not share the state. */
  stateLock: string;
  token: string;
  acceptedTerms: string;
  /** Exists during a restart if WARP accepted a request to connect but has not connected yet. */
  connectWish: string;
  /** Exists if the next start of the daemon is a demo. */
  demoRequest: string;
  /** Pending changes, which revert unless they are confirmed. */
  changes: string;
  /** An unreadable file of pending changes, kept until the user acknowledges it. */
  brokenChanges: string;
  /** Length of the user's last pause. */
  lastPause: string;
  /** History of routes documents. */
  routes: string;
  /** The user's rules for networks. */
  networks: string;
  /** Changes that network rules made, and the user's answers about the rules. */
  networksState: string;
  /** Directory of the history. */
  history: string;
  /** Directory of the organization's certificates for tools, and of the changes to the tools. */
  trust: string;
  /** Settings that the last applied file replaced. */
  settingsBefore: string;
  /** Desktop entry that starts the tray with the session. */
  autostart: string;
  /** XDG_CONFIG_HOME. */
  config: string;
  userConfig: string;
  systemConfig: string;
}

/**
 * Returns the paths for an environment. Without XDG_RUNTIME_DIR (no login session), runtime files are in the state
 * directory, which belongs to this user only, unlike directories below /tmp.
 * The launcher's `culvert status` in data/bin/culvert.in follows the same rule.
 * @param demo true if the emulator replaces the tunnel client: its state is stored separately, so the real client never
 *   gets it.
 * @throws Error if neither HOME nor the XDG variables are set, or HOME is a relative path.
 */
export function paths(env: NodeJS.ProcessEnv, demo = false): Paths {
  // no path.join: it processes every character, and that made V8 load its optimizing compiler here (4 MB)
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
