// Collects metric samples from the wrapper's files, without sending requests.
import { hmac } from '../../../daemon/core/hash.ts';
import { OUTCOMES } from '../audit.ts';
import { readConfig } from '../config.ts';
import { type AccountReport, describeAllAccounts, isUsable, reserveOf } from '../describe.ts';
import type { Paths } from '../paths.ts';
import { readLocal } from '../pool-file.ts';
import { describeConsumers, gatewayClis, readGateway } from '../tokens.ts';
import type { Sample, Samples, WRAP_FAMILIES } from './families.ts';
import type { Tally } from './tally.ts';

export type WrapSamples = Samples<typeof WRAP_FAMILIES>;

/** Classes of failures that make a run switch to another account. */
const CLASSES = ['quota', 'rate', 'auth'];

interface Options {
  /** Current time, in ms since the epoch. */
  now: number;
  tally: Tally;
  /** If set, labels have keyed hashes in place of names. */
  key?: string | undefined;
}

/**
 * Returns samples of accounts, their pauses, runs, gateways and, if configured, the pool.
 * @throws WrapError `config-broken`
 */
export function collectWrapSamples(paths: Paths, { now, tally, key }: Options): WrapSamples {
  const { pool, capacity } = readConfig(paths.config);
  const all = describeAllAccounts(paths, now).flatMap(({ cli, accounts }) =>
    accounts.map(account => ({
      account: { ...account, usable: isUsable(account, reserveOf(pool, capacity[cli])) },
      labels: { cli, account: key === undefined ? account.name : hashName(key, cli, account.name) },
    })),
  );
  const each = (value: (account: AccountReport & { usable: boolean }) => number | null): Sample[] =>
    all.flatMap(({ account, labels }) => {
      const sample = value(account);
      return sample === null ? [] : [{ labels, value: sample }];
    });
  const clis = [...new Set(all.map(({ labels }) => labels.cli))];
  return {
    culvert_wrap_store_readable: [{ labels: {}, value: 1 }],
    culvert_wrap_account_enabled: each(({ enabled }) => Number(enabled)),
    culvert_wrap_account_usable: each(({ usable }) => Number(usable)),
    culvert_wrap_account_paused: each(({ paused }) => Number(paused !== null)),
    culvert_wrap_account_paused_until_timestamp_seconds: each(({ paused }) => seconds(paused?.until)),
    culvert_wrap_account_remaining: each(({ remaining }) => remaining),
    culvert_wrap_account_limit: each(({ limit }) => limit),
    culvert_wrap_account_known_timestamp_seconds: each(({ at }) => seconds(at)),
    culvert_wrap_switches_total: counted(tally.switches, clis, 'class', CLASSES),
    culvert_wrap_runs_total: counted(tally.runs, clis, 'outcome', OUTCOMES),
    ...gatewaySamples(paths, key),
    ...(pool && poolSamples(paths)),
  };
}

/** Returns samples of gateways and of the programs that use them. */
function gatewaySamples(paths: Paths, key: string | undefined): WrapSamples {
  const gateways = gatewayClis(paths).map(cli => ({ cli, file: readGateway(paths, cli) }));
  const all = gateways.flatMap(({ cli, file }) =>
    describeConsumers(file).map(consumer => ({
      consumer,
      labels: { cli, consumer: key === undefined ? consumer.name : hashName(key, cli, consumer.name) },
    })),
  );
  if (gateways.length === 0) return {};
  const each = (field: 'requests' | 'refused' | 'used'): Sample[] =>
    all.map(({ consumer, labels }) => ({ labels, value: consumer[field] }));
  return {
    culvert_wrap_gateway_requests_total: each('requests'),
    culvert_wrap_gateway_refused_total: each('refused'),
    culvert_wrap_gateway_used_total: each('used'),
    culvert_wrap_gateway_turned_away_total: gateways.map(({ cli, file }) => ({
      labels: { cli },
      value: file.turnedAway,
    })),
  };
}

/** Returns samples of the pool's locally cached state. */
function poolSamples(paths: Paths): WrapSamples {
  const { degradedSince, degradedRuns, waits, unsent } = readLocal(paths);
  const one = (value: number): Sample[] => [{ labels: {}, value }];
  return {
    culvert_wrap_pool_degraded: one(Number(degradedSince !== undefined)),
    culvert_wrap_pool_degraded_runs_total: one(degradedRuns),
    culvert_wrap_pool_waits_total: one(waits),
    culvert_wrap_pool_unsent_reports: one(unsent.length),
  };
}

/** Samples if the files cannot be read. */
export const UNREADABLE: WrapSamples = { culvert_wrap_store_readable: [{ labels: {}, value: 0 }] };

/** Returns a hash short enough for a graph. The secret key prevents guessing the name. */
function hashName(key: string, cli: string, name: string): string {
  return hmac(key, `${cli} ${name}`).slice(0, 12);
}

/** Returns samples of a counter. Known names start at 0, which makes their first increase visible. */
function counted(table: Tally['runs'], clis: readonly string[], label: string, names: readonly string[]): Sample[] {
  return [...new Set([...clis, ...Object.keys(table)])].flatMap(cli =>
    [...new Set([...names, ...Object.keys(table[cli] ?? {})])].map(name => ({
      labels: { cli, [label]: name },
      value: table[cli]?.[name] ?? 0,
    })),
  );
}

function seconds(time: string | null | undefined): number | null {
  return time ? Date.parse(time) / 1000 : null;
}
