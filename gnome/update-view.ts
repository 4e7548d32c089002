// Pure: what the last check for updates said -> banner, rows and progress of it.
import type { ConfigResponse, UpdateCheck } from '../daemon/api/schema.ts';
import { formatBytes } from './format.ts';
import { fill, type Words } from './words.ts';

export interface UpdateView {
  /** null while there is nothing to say across the window. */
  banner: { title: string; button: 'apply' | 'how' | null } | null;
  current: string;
  channel: string;
  /** When it was looked for, in ms since the epoch; null before the first time. */
  checkedAt: number | null;
  /** What came of it. */
  outcome: string | null;
  /** Why no answer could be had. */
  problem: string | null;
  command: string | null;
  applicable: boolean;
  progress: { text: string; fraction: number | null } | null;
  previous: string | null;
}

/**
 * Everything that the panel shows of updates.
 * @param own version of the panel itself, for the time before the first check.
 */
export function describeUpdate(
  update: UpdateCheck | null,
  config: ConfigResponse | null,
  own: string,
  words: Words,
): UpdateView {
  const { _ } = words;
  const channels: Record<string, string> = { stable: _('Stable'), beta: _('Beta') };
  const channel = update?.channel ?? config?.config.updates.channel ?? 'stable';
  return {
    banner: update && bannerOf(update, words),
    current: update?.current ?? own,
    channel: channels[channel] ?? channel,
    checkedAt: update ? Date.parse(update.checkedAt) : null,
    outcome: update && outcomeOf(update, words),
    problem: update?.problem?.detail ?? null,
    command: update?.updateAvailable && !update.applicable ? update.command : null,
    applicable: Boolean(update?.updateAvailable && update.applicable && !update.progress),
    progress: update && progressOf(update, words),
    previous: update?.previous ?? null,
  };
}

function bannerOf({ updateAvailable, latest, applicable, command, progress }: UpdateCheck, { _ }: Words) {
  if (progress) return { title: fill(_('Culvert %s is being installed'), latest ?? ''), button: null };
  if (!updateAvailable || latest === null) return null;
  const button = applicable ? ('apply' as const) : command ? ('how' as const) : null;
  // Translators: %s is a version
  return { title: fill(_('Culvert %s is available'), latest), button };
}

function outcomeOf({ problem, updateAvailable, latest }: UpdateCheck, { _ }: Words): string {
  if (problem) return _('Could not find out');
  if (updateAvailable && latest) return fill(_('Culvert %s is available'), latest);
  return _('This is the newest version');
}

function progressOf({ progress }: UpdateCheck, words: Words): UpdateView['progress'] {
  if (!progress) return null;
  const { _ } = words;
  const { phase, received, total } = progress;
  const sizes: [string, string] = [formatBytes(received, words), formatBytes(total, words)];
  const fraction = total > 0 ? Math.min(1, received / total) : null;
  switch (phase) {
    case 'downloading':
      // Translators: sizes such as 1.2 MB, first what has arrived and then the whole
      return { text: fill(_('Downloading: %s of %s'), ...sizes), fraction };
    case 'verifying':
      return { text: fill(_('Verifying: %s of %s'), ...sizes), fraction };
    case 'installing':
      return { text: _('Installing…'), fraction: null };
  }
}
