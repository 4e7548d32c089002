// Performs actions: plans the command, runs it, and expires the parts that it changed.
import type { ActionRequest } from '../../api/actions.ts';
import type { CommandOutput } from '../../api/schema.ts';
import type { State } from '../../state/store.ts';
import { isMember } from '../../view/states/registration.ts';
import type { CliTracker } from '../cli/cli-info.ts';
import {
  blockedBy,
  blockedProblem,
  failureIn,
  isUncertain,
  outputText,
  problemOf,
  registrationProblem,
  stillRegistered,
} from '../cli/failures.ts';
import type { Runner } from '../cli/run.ts';
import { type Capabilities, NEWEST } from '../cli/version.ts';
import type { Terms } from '../consent.ts';
import type { ChangedParts } from '../hear.ts';
import type { Watch } from '../listen/watch.ts';
import type { Reader } from '../read/reader.ts';
import { endsAttempt } from '../registration.ts';
import type { TunnelStore } from '../tunnel-store.ts';
import { type Plan, planAction } from './commands.ts';

/** Connecting takes seconds, but never ends behind a captive portal or without a network. */
const PROXY_LIMIT_MS = 30_000;
/** A tunnel begins to connect immediately, so this is a long time even on a busy machine. */
const IGNORED_MS = 5_000;

/** Actions that register the device. */
const REGISTRATIONS: readonly ActionRequest['action'][] = ['register', 'registerOrganization', 'setRegistrationToken'];

interface Options {
  state: State;
  store: TunnelStore;
  reader: Reader;
  tracker: CliTracker;
  runner: Runner;
  watch: Watch;
  changes: ChangedParts;
  terms: Terms;
  /** Starts to use the CLI again after the terms are accepted. */
  adopt(): Promise<void>;
  stopped(): boolean;
  /** Time limit for the local proxy's answer (default 30 s). */
  proxyLimitMs: number | undefined;
  /** Time after which a tunnel that should connect but is down is reported (default 5 s). */
  ignoredMs: number | undefined;
}

/** @returns `Tunnel.runAction` */
export function createActionRunner(
  options: Options,
): (request: ActionRequest, isAutomatic?: boolean) => Promise<CommandOutput | null> {
  const { state, store, reader, tracker, runner, watch, changes, terms, adopt, stopped } = options;
  let ignoring: NodeJS.Timeout | undefined;
  let enabling: Promise<CommandOutput | null> | undefined;

  /** Checks that the tunnel follows an accepted command to connect or disconnect. */
  function followConnect(action: ActionRequest['action'], byCulvert: boolean): void {
    if (action !== 'connect' && action !== 'disconnect') return;
    clearTimeout(ignoring);
    store.expectConnection(action === 'connect', byCulvert);
    if (action !== 'connect') return;
    ignoring = setTimeout(() => !stopped() && store.connectionOverdue(), options.ignoredMs ?? IGNORED_MS).unref();
  }

  async function execute(request: ActionRequest, plan: Plan, file: string, byCulvert = false): Promise<CommandOutput> {
    store.checkRegistration();
    // only the status of a living listener is certain enough to refuse without running the command
    const { blocked } = state.snapshot().status;
    if (plan.registered && blocked === 'not-registered' && watch.form())
      throw blockedProblem(blocked, state.snapshot());
    refuseConsumer(request);
    changes.expectAnnouncement(plan.changes);
    const finished = await runner.run({
      file,
      args: [...(terms.accepted() ? ['--accept-tos'] : []), ...plan.argv],
      source: 'action',
      timeoutMs: plan.timeoutMs,
      write: true,
    });
    const failure = failureIn(finished);
    if (!failure || isUncertain(failure)) {
      reader.expire('devices');
      reader.expireChanged(plan.changes);
      changes.add(plan.changes);
    }
    if (!failure) {
      if (REGISTRATIONS.includes(request.action) || request.action === 'deleteRegistration')
        await store.registrationAttempted(null);
      store.setAuthorized(true);
      followConnect(request.action, byCulvert);
      reader.reachable();
      watch.retry();
      return finished.output;
    }
    const reason = blockedBy(failure);
    // a policy may lock single settings, but a user who may not connect has no access at all
    if (reason === 'not-authorized') {
      if (request.action === 'connect') store.setAuthorized(false);
    } else if (reason) reader.suspect(reason, outputText(finished));
    if (request.action === 'deleteRegistration' && isUncertain(failure)) {
      // release 2025.7 can lose its connection while it answers
      await reader.readLatest('registration');
      await reader.read('status');
      const { account, status } = state.snapshot();
      if (account.registered === false) return finished.output;
      if (status.blocked === null && !reader.isUnread('registration')) throw stillRegistered(failure, finished);
    }
    if (REGISTRATIONS.includes(request.action)) {
      await store.registrationAttempted(outputText(finished));
      const cause = store.registrationCause();
      if (cause && endsAttempt(cause)) throw registrationProblem(cause, finished);
    }
    throw problemOf(`the action ${request.action}`, failure, finished, state.snapshot());
  }

  /** An organization's machine must not get a consumer's registration. @throws Problem not-registered */
  function refuseConsumer({ action }: ActionRequest): void {
    if (action !== 'register' || isMember(state.snapshot())) return;
    const cause = store.registrationCause();
    if (cause?.managed) throw registrationProblem(cause);
  }

  /** Concurrent requests share one attempt. */
  function enableProxy(file: string, can: Capabilities): Promise<CommandOutput | null> {
    const enable = async () =>
      (await import('./localproxy.ts')).enableLocalProxy({
        state,
        can,
        run: request => execute(request, planAction(request, can), file),
        readSettings: () => reader.readLatest('settings'),
        stopped,
        limitMs: options.proxyLimitMs ?? PROXY_LIMIT_MS,
      });
    enabling ??= enable().finally(() => {
      enabling = undefined;
    });
    return enabling;
  }

  return async (request, isAutomatic = false) => {
    const cli = await tracker.current();
    const plan = planAction(request, cli?.can ?? NEWEST);
    if (request.action === 'acceptTerms') {
      terms.accept();
      await adopt();
      return null;
    }
    if (!cli) throw blockedProblem('cli-missing', state.snapshot());
    const { path, can } = cli;
    if (!can) throw blockedProblem('cli-too-old', state.snapshot());
    const act = () =>
      request.action === 'enableLocalProxy' ? enableProxy(path, can) : execute(request, plan, path, isAutomatic);
    if (!isAutomatic || request.action !== 'disconnect') return changes.during(act);
    // the listener may report the end before the command ends
    store.setAutomatic(true);
    return changes.during(act).finally(() => store.setAutomatic(false));
  };
}
