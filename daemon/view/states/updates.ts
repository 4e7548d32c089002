// Describes the last check for updates, with its banner, result and progress.
import type { ConfigResponse, UpdateCheck } from '../../api/schema.ts';
import { formatBytes } from '../format.ts';
import { english, fill, type Translator } from '../translator.ts';
import { problemText } from './problems.ts';

export interface UpdateView {
  /** null while no banner is shown. */
  banner: { title: string; button: 'apply' | 'how' | null } | null;
  current: string;
  channel: string;
  /** Time of the last check, in ms since the epoch; null before the first check. */
  checkedAt: number | null;
  /** Result of the last check. */
  outcome: string | null;
  /** Why the last check failed, or null. */
  problem: string | null;
  /** False for a build from git or a package, which Culvert itself can't update. */
  hasSource: boolean;
  command: string | null;
  applicable: boolean;
  progress: string | null;
  previous: string | null;
  latest: string | null;
}

/**
 * Describes updates for clients.
 * @param own version of the client, shown before the first check
 */
export function describeUpdate(
  update: UpdateCheck | null,
  config: ConfigResponse | null,
  own: string,
  tr: Translator,
): UpdateView {
  const { _ } = tr;
  const channels: Record<string, string> = { stable: _('Stable'), beta: _('Beta') };
  const hasSource = config?.config.updates.source !== '' && update?.problem?.code !== 'no-source';
  const channel = update?.channel ?? config?.config.updates.channel ?? 'stable';
  return {
    banner: update && bannerOf(update, tr),
    hasSource,
    current: update?.current ?? own,
    channel: channels[channel] ?? channel,
    checkedAt: update ? Date.parse(update.checkedAt) : null,
    outcome: hasSource ? update && outcomeOf(update, tr) : _('Updates come with git or your packages'),
    problem: hasSource && update ? checkProblem(update, tr) : null,
    command: update?.updateAvailable && !update.applicable ? update.command : null,
    applicable: Boolean(update?.updateAvailable && update.applicable && !update.progress),
    progress: update && progressOf(update, tr),
    previous: update?.previous ?? null,
    latest: update?.latest ?? null,
  };
}

function bannerOf(update: UpdateCheck, tr: Translator) {
  const { updateAvailable, latest, applicable, command, progress } = update;
  const { _ } = tr;
  if (progress) return { title: fill(_('Culvert %s is being installed'), latest ?? ''), button: null };
  const warning = sourceWarning(update, tr);
  if (warning !== null) return { title: warning, button: null };
  if (!updateAvailable || latest === null) return null;
  const button = applicable ? ('apply' as const) : command ? ('how' as const) : null;
  // Translators: %s is a version
  return { title: fill(_('Culvert %s is available'), latest), button };
}

/** Says why updates can't reach this installation; null if they can. */
export function sourceWarning({ source }: UpdateCheck, { _ }: Translator): string | null {
  switch (source.state) {
    case 'ok':
      return null;
    case 'expired':
      return _('The newest release has expired, so updates may be held back');
    case 'refused':
      return _('The release at the update source was refused');
    case 'unreachable':
      return _('The update source has not answered for a week');
  }
}

/** Says why the last check failed: in English the exact reason, else a translated sentence, with the reason if needed. */
function checkProblem(update: UpdateCheck, tr: Translator): string | null {
  const { problem } = update;
  if (!problem) return null;
  const sentence = problemText(problem, tr);
  if (sentence !== problem.detail) return sentence;
  const words = (of: Translator) => sourceWarning(update, of) ?? of._('The update source could not be reached');
  return words(tr) === words(english) ? problem.detail : `${words(tr)} (${problem.detail})`;
}

function outcomeOf({ problem, updateAvailable, latest }: UpdateCheck, { _ }: Translator): string {
  if (problem) return _('Couldn’t check for updates');
  if (updateAvailable && latest) return fill(_('Culvert %s is available'), latest);
  return _('This is the newest version');
}

function progressOf({ progress }: UpdateCheck, tr: Translator): UpdateView['progress'] {
  if (!progress) return null;
  const { _ } = tr;
  const { phase, received, total } = progress;
  const sizes: [string, string] = [formatBytes(received, tr), formatBytes(total, tr)];
  switch (phase) {
    case 'downloading':
      // Translators: sizes such as 1.2 MB, first what has arrived and then the whole
      return fill(_('Downloading: %s of %s'), ...sizes);
    case 'verifying':
      return fill(_('Verifying: %s of %s'), ...sizes);
    case 'installing':
      return _('Installing…');
  }
}
