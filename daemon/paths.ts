// Where this user's Culvert keeps its things (XDG base directories).

export interface Paths {
  /** Socket, daemon record and status line; 0700, gone at logout. */
  runtime: string;
  socket: string;
  /** `{pid, port, version}` of the running daemon. */
  record: string;
  /** What `culvert status` prints without starting Node. */
  statusFile: string;
  state: string;
  token: string;
  acceptedTerms: string;
  /** Desktop entry that starts the tray with the session. */
  autostart: string;
  userConfig: string;
  systemConfig: string;
}

/**
 * Directories for an environment. Without XDG_RUNTIME_DIR (no login session) the state directory serves:
 * like it, it belongs to this user alone, which nothing below /tmp would.
 * The launcher's `culvert status` in data/bin/culvert.in follows the same rule.
 * @throws Error when neither HOME nor the XDG variables are set.
 */
export function paths(env: NodeJS.ProcessEnv): Paths {
  // put together by hand: path.join goes over every character, and here that made V8 load its optimising compiler, 4 MB
  const trimmed = (path: string) => path.replace(/\/+$/, '');
  const absolute = (path: string | undefined) => (path?.startsWith('/') ? trimmed(path) : undefined);
  const home = (below: string) => {
    if (!env.HOME) throw new Error('HOME is not set, so there is no place for configuration and state. Set HOME.');
    return `${trimmed(env.HOME)}/${below}`;
  };
  const state = `${absolute(env.XDG_STATE_HOME) ?? home('.local/state')}/culvert`;
  const config = absolute(env.XDG_CONFIG_HOME) ?? home('.config');
  const session = absolute(env.XDG_RUNTIME_DIR);
  const runtime = session ? `${session}/culvert` : `${state}/run`;
  return {
    runtime,
    socket: `${runtime}/api.sock`,
    record: `${runtime}/daemon.json`,
    statusFile: `${runtime}/status`,
    state,
    token: `${state}/token`,
    acceptedTerms: `${state}/accepted-terms`,
    autostart: `${config}/autostart/org.culvert.Culvert.desktop`,
    userConfig: `${config}/culvert/config.json`,
    systemConfig: '/etc/culvert/config.json',
  };
}
