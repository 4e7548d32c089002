// Implements `pool`, which joins, leaves and shows a store that several machines share.
import { isDeepStrictEqual } from 'node:util';
import { randomHex } from '../../daemon/core/hash.ts';
import type { Context } from '../context.ts';
import { describeAddress, parseAddress, StoreUnreachable } from '../pool/address.ts';
import { openPool, PASSWORD_SLOTS, type Passwords } from '../pool/open.ts';
import { type PoolStatus, poolStatus } from '../pool/status.ts';
import type { AccountRow } from '../pool/store.ts';
import { ACCOUNT_NAME, editConfig, Pool, readConfig, SOURCE } from '../store/config.ts';
import { updateLocal } from '../store/pool-file.ts';
import { forgetSecret, storeSecret } from '../store/secrets.ts';
import { updateState } from '../store/state.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { formatDuration } from '../system/notation.ts';
import { emit, number, table, time } from './print.ts';
import { askSecrets } from './prompt.ts';

interface Json {
  json?: boolean;
}

interface JoinOptions extends Json {
  user?: string;
  password?: string;
  sentinelUser?: string;
  sentinelPassword?: string;
  ca?: string;
  machine?: string;
  offline?: string;
  machines?: string;
}

/**
 * `pool join <url>`: tests the store, and writes it to the configuration. Earlier settings stay, except the old login.
 * @throws WrapError `pool-address`, `pool-option`, `pool-unreachable`, `pool-refused`, `keyring-unavailable`
 */
export async function joinPool(url: string, options: JoinOptions, context: Context): Promise<void> {
  const { paths } = context;
  parseAddress(url);
  const previous = readConfig(paths.config).pool;
  const identity = previous ? chosen(previous) : { machine: `machine-${randomHex(4)}` };
  const { user, password, sentinelUser, sentinelPassword, ca } = options;
  assertSource('--password', password);
  assertSource('--sentinel-password', sentinelPassword);
  const asked = await askPasswords({ password, sentinel_password: sentinelPassword });
  const section = {
    url,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(sentinelUser !== undefined && { sentinel_user: sentinelUser }),
    ...(sentinelPassword !== undefined && { sentinel_password: sentinelPassword }),
    ...(ca !== undefined && { ca: absolute(ca, context.cwd) }),
    ...identity,
    ...(options.machine !== undefined && { machine: nameOf(options.machine) }),
    ...(options.offline !== undefined && { offline: options.offline as 'local' }),
    ...(options.machines !== undefined && { machines: Number(options.machines) }),
  };
  const parsed = Pool.safeParse(section);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const why = `${issue?.path.join('.')} ${issue?.message}`;
    throw new WrapError('pool-option', EXIT.usage, `the pool can't be joined: ${why}`, {
      hint: '--offline is refuse or local, which needs --machines N; --sentinel-password is for valkey+sentinel:// addresses',
    });
  }
  await assertUsable(parsed.data, context, asked);
  // only after the test, because the new password replaces that of the current pool
  for (const key of PASSWORDS) {
    if (asked[key] !== undefined) await storeSecret(PASSWORD_SLOTS[key], asked[key], 'keyring', paths);
  }
  editConfig(paths.config, [{ pool: section }]);
  await forgetPasswords(previous, parsed.data, context);
  emit(
    options.json,
    { address: describeAddress(url), machine: parsed.data.machine, offline: parsed.data.offline },
    `joined the pool at ${describeAddress(url)} as "${parsed.data.machine}"`,
  );
}

/** `pool leave`: leaves the pool, and deletes this machine's data about it. */
export async function leavePool(options: Json, context: Context): Promise<void> {
  const { paths } = context;
  const pool = required(context);
  editConfig(paths.config, [{ pool: undefined }]);
  await forgetPasswords(pool, undefined, context);
  updateLocal(paths, local => {
    delete local.degradedSince;
    Object.assign(local, { unsent: [], away: {}, fingerprints: {} });
  });
  emit(options.json, { address: describeAddress(pool.url) }, `left the pool at ${describeAddress(pool.url)}`);
}

/** `pool status`: shows the pool, and exits with 69 if the store can't be reached. */
export async function showPool(options: Json, context: Context): Promise<void> {
  const status = await poolStatus(context);
  if (!status) {
    emit(options.json, { pool: null }, 'this machine is in no pool; see `culvert-wrap pool join --help`');
    return;
  }
  emit(options.json, { pool: status }, describe(status));
  if (!status.reachable) process.exitCode = EXIT.unavailable;
}

/** `pool leases`: shows the account that each machine uses. */
export async function showLeases(options: Json, context: Context): Promise<void> {
  required(context);
  const status = (await poolStatus(context))!;
  if (!status.reachable) throw unreachable(status.address, status.problem!);
  const leases = status.clis.flatMap(({ cli, leases }) => leases.map(lease => ({ cli, ...lease })));
  const rows = leases.map(({ cli, name, owner, want, age, ttl, fence }) => [
    cli,
    name,
    owner,
    number(want),
    formatDuration(age),
    formatDuration(Math.max(0, ttl)),
    fence,
  ]);
  const heading = ['CLI', 'ACCOUNT', 'MACHINE', 'COST', 'SINCE', 'ENDS IN', 'FENCE'];
  emit(options.json, { leases }, rows.length === 0 ? 'no account is leased' : table([heading, ...rows]));
}

/**
 * `pool reset <account>`: resets the account of this name for every CLI of this machine. Other machines notice with their
 * next command.
 * @throws WrapError `unknown-account`, `pool-unreachable`
 */
export async function resetAccount(name: string, options: Json & { cli?: string }, context: Context): Promise<void> {
  const pool = required(context);
  const { accounts } = readConfig(context.paths.config);
  const clis = [...new Set(accounts.map(account => account.cli))].filter(cli => (options.cli ?? cli) === cli);
  const store = await openPool(pool, context);
  try {
    const done: string[] = [];
    for (const cli of clis) {
      if ((await store.reset(cli, name)) === 0) continue;
      done.push(cli);
      updateState(context.paths, cli, state => {
        delete state.paused[name];
        delete state.remaining[name];
      });
    }
    if (done.length === 0) {
      throw new WrapError('unknown-account', EXIT.usage, `the pool has no account "${name}"`, {
        hint: 'see `culvert-wrap pool status`; an account is in the pool once a command has used it',
      });
    }
    emit(options.json, { account: name, clis: done }, `reset "${name}" of ${done.join(', ')} for all machines`);
  } catch (error) {
    throw error instanceof StoreUnreachable ? unreachable(describeAddress(pool.url), error.message) : error;
  } finally {
    store.close();
  }
}

/** Settings that each `pool join` replaces or drops. */
const OF_THE_ADDRESS = ['url', 'user', 'password', 'sentinel_user', 'sentinel_password', 'ca'];

/** Returns the user's earlier settings without the address and its login. */
function chosen(pool: Pool): Partial<Pool> & { machine: string } {
  const { url, machine } = pool;
  const defaults: Record<string, unknown> = Pool.parse({ url, machine });
  const own = Object.entries(pool).filter(
    ([key, value]) => !OF_THE_ADDRESS.includes(key) && !isDeepStrictEqual(value, defaults[key]),
  );
  return { machine, ...Object.fromEntries(own) };
}

const PASSWORDS = ['password', 'sentinel_password'] as const satisfies (keyof Passwords)[];

function assertSource(option: string, source: string | undefined): void {
  if (source === undefined || SOURCE.test(source)) return;
  throw new WrapError('pool-option', EXIT.usage, `${option} is the source of the password, not the password itself`, {
    hint: 'give file:PATH#KEY, env:VARIABLE, pass:ENTRY, command:…, or keyring: to be asked for it',
  });
}

/** Asks for the passwords that the keyring will store. */
async function askPasswords(sources: Passwords): Promise<Passwords> {
  const labels = { password: 'Password of the pool', sentinel_password: 'Password of its Sentinels' };
  const prompted = PASSWORDS.filter(key => sources[key] === 'keyring:');
  const answers = await askSecrets(prompted.map(key => labels[key]));
  return Object.fromEntries(prompted.map((key, i) => [key, answers[i]]));
}

/** Removes the passwords from the keyring that `after` no longer needs. */
async function forgetPasswords(before: Pool | undefined, after: Pool | undefined, { paths }: Context): Promise<void> {
  for (const key of PASSWORDS) {
    if (before?.[key] === 'keyring:' && after?.[key] !== 'keyring:') {
      await forgetSecret('keyring:', PASSWORD_SLOTS[key], paths);
    }
  }
}

async function assertUsable(pool: Pool, context: Context, passwords: Passwords): Promise<void> {
  const store = await openPool(pool, context, passwords);
  try {
    const clis = readConfig(context.paths.config).accounts.map(account => account.cli);
    for (const cli of new Set(clis.length > 0 ? clis : ['culvert-wrap'])) await store.status(cli);
  } catch (error) {
    throw error instanceof StoreUnreachable ? unreachable(describeAddress(pool.url), error.message) : error;
  } finally {
    store.close();
  }
}

function required({ paths }: Context): Pool {
  const { pool } = readConfig(paths.config);
  if (pool) return pool;
  throw new WrapError('no-pool', EXIT.usage, 'this machine is in no pool', {
    hint: 'run `culvert-wrap pool join URL`',
  });
}

function unreachable(address: string, why: string): WrapError {
  return new WrapError('pool-unreachable', EXIT.unavailable, `the pool at ${address} can't be reached: ${why}`, {
    hint: 'start the store, or correct the address with `culvert-wrap pool join`',
  });
}

function nameOf(machine: string): string {
  if (ACCOUNT_NAME.test(machine)) return machine;
  throw new WrapError('pool-option', EXIT.usage, 'the name of a machine consists of letters, digits, ".", "_", "-"', {
    hint: 'give another --machine',
  });
}

function absolute(file: string, cwd: string): string {
  return file.startsWith('/') ? file : `${cwd}/${file}`;
}

function describe(status: PoolStatus): string {
  const { address, machine, offline, reachable, problem, degradedSince, degradedRuns, waits, unsent, clis } = status;
  const without = offline === 'local' ? "this machine's share of the reserve" : 'commands are refused';
  const lines = [
    `pool      ${address}, as "${machine}"`,
    `store     ${reachable ? 'reachable' : `can't be reached: ${problem}`}`,
    `without   ${without}`,
    ...(degradedSince === null ? [] : [`degraded  since ${time(degradedSince)}`]),
    `runs      ${number(degradedRuns)} without the store, ${number(waits)} waited, ${number(unsent)} reports to be sent`,
  ];
  const tables = clis
    .filter(({ accounts }) => accounts.length > 0)
    .map(({ cli, accounts }) => {
      const rows = accounts.map(row => [
        row.name,
        number(row.remaining),
        number(row.reserved),
        number(row.leases),
        time(row.resets),
        stateText(row),
      ]);
      return `\n${cli}\n${table([['ACCOUNT', 'REMAINING', 'RESERVED', 'LEASES', 'RESETS', 'STATE'], ...rows])}`;
    });
  return [...lines, ...tables].join('\n');
}

function stateText({ paused, class: failure, remaining }: AccountRow): string {
  if (paused === -1) return `paused (${failure}) until its credential changes`;
  if (paused !== undefined) return `paused (${failure}) for ${formatDuration(paused)}`;
  return remaining === 0 ? 'nothing left' : 'ready';
}
