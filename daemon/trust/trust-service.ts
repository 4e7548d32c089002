// The organization's certificate for the API: one report at a time, and changes that are published to every client.
import type { TrustReport, TrustReportRequest, TrustRequest, TrustResponse } from '../api/trust.ts';
import type { FeatureContext } from '../controls.ts';
import { Problem } from '../problem.ts';
import type { Place } from './certificates.ts';
import { TrustError } from './errors.ts';
import { isMember } from './organization.ts';
import { createTrust } from './trust.ts';

/**
 * Each method throws Problem trust-refused and busy.
 * @param changed called after a change, so that the state shows it
 * @param place stands for the machine, in tests
 */
export function createTrustService(
  { env, paths, state }: Pick<FeatureContext, 'env' | 'paths' | 'state'>,
  changed: () => Promise<void>,
  place?: Place,
) {
  const ended = new AbortController();
  /** Reports under way, by their tools: a second client waits for the same one. */
  const reports = new Map<string, Promise<TrustReport>>();
  const open = () => createTrust({ env, paths, signal: ended.signal, isMember: isMember(state.snapshot()), place });

  const change = async (
    { tools }: TrustRequest,
    act: (tools?: readonly string[]) => Promise<string[]>,
  ): Promise<TrustResponse> => {
    try {
      return { ok: true, done: await asProblem(() => act(tools)) };
    } finally {
      await changed();
    }
  };

  return {
    /** @param request `host` is one that the tools connect to as well */
    report({ tools, host }: TrustReportRequest): Promise<TrustReport> {
      const key = JSON.stringify([tools, host]);
      const report = reports.get(key) ?? asProblem(() => open().report(tools, host)).finally(() => reports.delete(key));
      reports.set(key, report);
      return report;
    },
    apply: (request: TrustRequest) => change(request, tools => open().apply(tools)),
    undo: (request: TrustRequest) => change(request, tools => open().undo(tools)),
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
