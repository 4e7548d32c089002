// The organization's certificate for the API: one report at a time, and changes that are published to every client.
import type { TrustReport, TrustReportRequest, TrustRequest } from '../api/schema/trust.ts';
import type { FeatureContext, TrustControl } from '../controls.ts';
import { Problem } from '../problem.ts';
import type { Place } from './certificates.ts';
import { TrustError } from './errors.ts';
import { isMember } from './organization.ts';
import { createTrust } from './trust.ts';

/** @param changed called after a change, so that the state shows it @param place stands for the machine, in tests */
export function createTrustService(
  { env, paths, state }: Pick<FeatureContext, 'env' | 'paths' | 'state'>,
  changed: () => Promise<void>,
  place?: Place,
): TrustControl {
  const ended = new AbortController();
  /** Reports under way, by their tools: a second client waits for the same one. */
  const reports = new Map<string, Promise<TrustReport>>();
  const open = () => createTrust({ env, paths, signal: ended.signal, isMember: isMember(state.snapshot()), place });

  const change = async ({ tools }: TrustRequest, act: (tools?: readonly string[]) => Promise<string[]>) => {
    try {
      return { ok: true as const, done: await asProblem(() => act(tools)) };
    } finally {
      await changed();
    }
  };

  return {
    report({ tools, host }: TrustReportRequest) {
      const key = JSON.stringify([tools, host]);
      const report = reports.get(key) ?? asProblem(() => open().report(tools, host)).finally(() => reports.delete(key));
      reports.set(key, report);
      return report;
    },
    apply: request => change(request, tools => open().apply(tools)),
    undo: request => change(request, tools => open().undo(tools)),
    stop: () => ended.abort(),
  };
}

async function asProblem<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof TrustError)) throw error;
    const hint = error.hint === undefined ? {} : { hint: error.hint };
    throw new Problem(error.code === 'busy' ? 'busy' : 'trust-refused', error.message, hint, error);
  }
}
