// Shows a desktop notification when an account passes a threshold.
import { spawn } from 'node:child_process';
import type { Context } from '../context.ts';
import { callerEnvironment } from '../run/accounts/environment.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, updateState } from '../store/state.ts';

/**
 * Notifies once for each threshold of `notify_at` that an account has passed since it was last below it.
 * @param state as it is after the run
 */
export function reportCapacity(plan: Plan, state: CliState, context: Context): void {
  const thresholds = [...plan.capacity.notify_at].sort((a, b) => a - b);
  if (thresholds.length === 0) return;
  const passed: Record<string, number> = {};
  for (const { name, enabled } of plan.accounts) {
    const figures = state.remaining[name];
    if (!enabled || typeof figures?.remaining !== 'number' || !figures.limit) continue;
    const percent = 100 - (100 * figures.remaining) / figures.limit;
    passed[name] = thresholds.filter(threshold => percent >= threshold).at(-1) ?? 0;
  }
  const changed = Object.entries(passed).filter(([name, threshold]) => threshold !== (state.notified[name] ?? 0));
  if (changed.length === 0) return;
  updateState(context.paths, plan.cli, stored => {
    for (const [name, threshold] of changed) stored.notified[name] = threshold;
  });
  for (const [name, threshold] of changed) {
    if (threshold > (state.notified[name] ?? 0)) notify(`${plan.cli}: ${threshold} % of "${name}" used`, plan, context);
  }
}

/** notify-send(1) belongs to libnotify, which every desktop has; without it nothing happens. */
function notify(text: string, plan: Plan, context: Context): void {
  const body = plan.accounts.length > 1 ? `See: culvert-wrap status ${plan.cli}` : '';
  const child = spawn('notify-send', ['--app-name=Culvert', '--', text, body], {
    env: callerEnvironment(context.env),
    stdio: 'ignore',
    detached: true,
  });
  child.on('error', () => {});
  child.unref();
}
