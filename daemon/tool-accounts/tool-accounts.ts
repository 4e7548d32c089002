// Publishes the accounts that culvert-wrap holds for command-line tools, and runs culvert-wrap to change them.
import { join } from 'node:path';
import { pathsFor } from '../../wrapper/store/paths.ts';
import type { ToolAccounts, ToolAccountsChange } from '../api/accounts.ts';
import { TOOL_CHANGES_WAITING } from '../api/requests.ts';
import { watchFile } from '../config/watch-file.ts';
import type { FeatureContext } from '../controls.ts';
import { Problem } from '../problem.ts';
import { programs } from '../system/installation.ts';
import { message } from '../view/message.ts';
import { CATALOG, createToolOffer } from './offer.ts';
import { createReader, parseRefresh, runWrapper } from './wrapper.ts';

/** Time for which changes are published after a read. Clients read again earlier while they show the accounts. */
const LEASE_MS = 120_000;

export interface Options {
  /** Absolute path of culvert-wrap. */
  program?: string;
  /** The shipped providers.toml. */
  catalog?: string;
  leaseMs?: number;
}

export function createToolAccounts(
  { env, state }: Pick<FeatureContext, 'env' | 'state'>,
  { program = programs.wrapper, catalog = CATALOG, leaseMs = LEASE_MS }: Options = {},
) {
  const paths = pathsFor(env);
  const readTools = createReader({ paths, catalog }, env.PATH ?? '');
  const offer = createToolOffer({ env, state }, { catalog });
  // one file in each directory that the wrapper changes
  const files = [paths.config, paths.installs, join(paths.accounts, 'any.json'), join(paths.gateways, 'any.json')];
  const watching = watchWhileWanted(files, () => void publish(), leaseMs);
  /** The provider's error at the last refresh, by CLI and account. */
  let problems: ReadonlyMap<string, string> = new Map();
  let refreshing = false;
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  let published = '';

  function current(): ToolAccounts {
    const { tools, problem } = readTools(Date.now());
    for (const { cli, accounts } of tools)
      for (const account of accounts) account.problem = problems.get(`${cli} ${account.name}`) ?? null;
    return { ok: true, tools, refreshing, problem };
  }
  function publish(): ToolAccounts {
    offer.start();
    const accounts = current();
    const text = JSON.stringify(accounts);
    if (text !== published) state.publish('accounts', accounts);
    published = text;
    return accounts;
  }
  async function refresh(): Promise<void> {
    refreshing = true;
    publish();
    try {
      problems = parseRefresh(await runWrapper(program, { change: 'refresh' }, env));
    } finally {
      refreshing = false;
    }
  }

  return {
    /** Reads the stored accounts, and publishes later changes for two minutes. */
    read(): ToolAccounts {
      watching.renew();
      return publish();
    },
    /** @throws Problem wrapper-refused, wrapper-failed */
    async change(request: ToolAccountsChange): Promise<ToolAccounts> {
      if (waiting >= TOOL_CHANGES_WAITING)
        throw new Problem('busy', message('Too many changes of accounts are waiting. Try again in a few seconds.'));
      waiting += 1;
      const turn = last.then(() => (request.change === 'refresh' ? refresh() : runWrapper(program, request, env)));
      last = turn.catch(() => {});
      try {
        await turn;
      } finally {
        waiting -= 1;
        publish();
      }
      return current();
    },
    /** Publishes the stored accounts, and also later changes until the returned function is called. */
    follow(): () => void {
      published = '';
      publish();
      return watching.hold();
    },
    stop: () => watching.stop(),
  };
}

/** Delay after a change, because the wrapper writes several files in sequence. */
const SETTLE_MS = 250;

interface Wanted {
  /** Extends the watch to `leaseMs` from now. */
  renew(): void;
  /** Watches until the returned function is called. */
  hold(): () => void;
  /** Stops watching, even for holders. */
  stop(): void;
}

/**
 * @param files one file per directory; a change of any file in the directory counts
 * @param changed called a moment after a change
 */
function watchWhileWanted(files: readonly string[], changed: () => void, leaseMs: number): Wanted {
  const holders = new Set<object>();
  let lease: NodeJS.Timeout | undefined;
  let settling: NodeJS.Timeout | undefined;
  let closers: (() => void)[] = [];

  function noticed(): void {
    settling ??= setTimeout(() => {
      settling = undefined;
      changed();
    }, SETTLE_MS).unref();
  }
  function watch(): void {
    if (closers.length === 0) closers = files.map(file => watchFile(file, noticed));
  }
  function closeUnlessWanted(): void {
    if (holders.size > 0 || lease) return;
    clearTimeout(settling);
    settling = undefined;
    for (const close of closers.splice(0)) close();
  }

  return {
    renew() {
      clearTimeout(lease);
      lease = setTimeout(() => {
        lease = undefined;
        closeUnlessWanted();
      }, leaseMs).unref();
      watch();
    },
    hold() {
      const holder = {};
      holders.add(holder);
      watch();
      return () => {
        holders.delete(holder);
        closeUnlessWanted();
      };
    },
    stop() {
      clearTimeout(lease);
      lease = undefined;
      holders.clear();
      closeUnlessWanted();
    },
  };
}
