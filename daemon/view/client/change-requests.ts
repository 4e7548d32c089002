// Sends requests about changes that revert on their own.
import type { ChangeAsk } from '../form.ts';
import type { Model } from './model.ts';

/** The longest that a state may still last, in seconds. */
const A_WEEK = 604_800;

/** @throws ApiError, Unreachable */
export async function askAboutChange({ call }: Pick<Model, 'call'>, ask: ChangeAsk): Promise<void> {
  if (ask.kind === 'extend') {
    const { subject, endsAt, seconds } = ask;
    const left = Math.max(0, Math.round((Date.parse(endsAt) - Date.now()) / 1000));
    await call('POST /api/changes/extend', { body: { subject, seconds: Math.min(left + seconds, A_WEEK) } });
    return;
  }
  if (ask.kind === 'acknowledge') {
    await call('POST /api/changes/confirm', { body: {} });
    return;
  }
  // one after another: without a subject, states that end by themselves would be reverted, too
  for (const subject of ask.subjects) await call(`POST /api/changes/${ask.what}`, { body: { subject } });
}
