// Defines the metrics of the wrapper: the one table of their names, for `culvert-wrap metrics` and for the daemon.
import type { Families } from './exposition.ts';

const ACCOUNT = ['cli', 'account'] as const;

export const WRAP_FAMILIES = {
  culvert_wrap_store_readable: {
    type: 'gauge',
    help: "1 while the wrapper's files can be read; at 0 the other metrics of accounts are missing.",
    labels: [],
  },
  culvert_wrap_account_enabled: { type: 'gauge', help: '1 where the account may be used.', labels: ACCOUNT },
  culvert_wrap_account_usable: {
    type: 'gauge',
    help: '1 where a command would use the account: enabled, not paused, and not known to be used up, but for its reserve.',
    labels: ACCOUNT,
  },
  culvert_wrap_account_paused: {
    type: 'gauge',
    help: '1 while the account is not tried, because the provider refused it.',
    labels: ACCOUNT,
  },
  culvert_wrap_account_paused_until_timestamp_seconds: {
    type: 'gauge',
    help: 'When the account is tried again; missing where that is once its credential changes.',
    labels: ACCOUNT,
  },
  culvert_wrap_account_remaining: {
    type: 'gauge',
    help: "What the account has left, in the provider's unit, as it was known last.",
    labels: ACCOUNT,
  },
  culvert_wrap_account_limit: { type: 'gauge', help: "The account's limit, in the provider's unit.", labels: ACCOUNT },
  culvert_wrap_account_known_timestamp_seconds: {
    type: 'gauge',
    help: 'When it was known what the account has left.',
    labels: ACCOUNT,
  },
  culvert_wrap_switches_total: {
    type: 'counter',
    help: 'Runs in which an account was left for another one, by the class of the failure.',
    labels: ['cli', 'class'],
  },
  culvert_wrap_runs_total: {
    type: 'counter',
    help: 'Attempts to run a wrapped command, by what they came to.',
    labels: ['cli', 'outcome'],
  },
  culvert_wrap_gateway_requests_total: {
    type: 'counter',
    help: 'Requests of a program that went to the provider.',
    labels: ['cli', 'consumer'],
  },
  culvert_wrap_gateway_refused_total: {
    type: 'counter',
    help: 'Requests of a program that were not forwarded: for its budget, for a reserve, or without an account.',
    labels: ['cli', 'consumer'],
  },
  culvert_wrap_gateway_turned_away_total: {
    type: 'counter',
    help: 'Requests from web pages, from other users, and without a valid placeholder.',
    labels: ['cli'],
  },
  culvert_wrap_gateway_used_total: {
    type: 'counter',
    help: "Expected cost of a program's requests, in the provider's unit.",
    labels: ['cli', 'consumer'],
  },
  culvert_wrap_pool_degraded: {
    type: 'gauge',
    help: "1 while commands can't reach the pool's store; missing where this machine is in no pool.",
    labels: [],
  },
  culvert_wrap_pool_degraded_runs_total: {
    type: 'counter',
    help: "Runs without the pool's store, within this machine's own share.",
    labels: [],
  },
  culvert_wrap_pool_waits_total: { type: 'counter', help: 'Runs that waited for an account of the pool.', labels: [] },
  culvert_wrap_pool_unsent_reports: {
    type: 'gauge',
    help: "Reports that the pool's store does not have yet.",
    labels: [],
  },
} as const satisfies Families;
