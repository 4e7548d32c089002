// Words the changes that a document makes to the split tunnel, its warnings, presets and causes.
import type { RoutesCause, RoutesPresets, RoutesPreview } from '../../api/routes.ts';
import { formatCount } from '../format.ts';
import { wordMessage } from '../message.ts';
import { fill, type Translator } from '../translator.ts';

/** A warning from daemon/routes. */
interface RouteWarning {
  /** Any string, because a newer daemon may send further codes. */
  code: string;
  value: string;
}

/** Words a consequence that users tend to overlook. */
export function routeWarning({ code, value }: RouteWarning, { _ }: Translator): string {
  const sentences: Record<string, string> = {
    // Translators: %s is an IP address
    'ssh-peer': _('Your SSH session comes from %s, which moves into or out of the tunnel. The session will break.'),
    gateway: _('Your router %s goes into the tunnel. You can’t reach it, or devices near it, while connected.'),
    printer: _('You are connected to the printer %s, which goes into the tunnel. You can’t reach it while connected.'),
    resolver: _('Your DNS server %s moves into or out of the tunnel. Names may no longer resolve.'),
    endpoint: _('%s is an endpoint of the tunnel itself, which must stay outside the tunnel.'),
    everything: _('%s means all addresses.'),
    'hosts-need-dns': _('%s has no effect: in the mode “All traffic, your own DNS” WARP sees no names.'),
  };
  return fill(sentences[code] ?? '%s', value);
}

/** Meaning of a line of a difference. */
export type DifferenceKind = 'invalid' | 'add' | 'remove' | 'duplicate' | 'contained';

interface DifferenceLine {
  kind: DifferenceKind;
  /** The character before the text, as in diff(1). */
  mark: string;
  text: string;
}
const MARKS: Record<DifferenceKind, string> = { invalid: '!', add: '+', remove: '-', duplicate: ' ', contained: ' ' };

/** Words the reason why an entry is invalid; an older daemon sends it only in English. */
function reasonOf({ message, reason }: RoutesPreview['invalid'][number], tr: Translator): string {
  return message ? wordMessage(message, tr) : reason;
}

type Difference = Pick<RoutesPreview, 'add' | 'remove' | 'invalid' | 'duplicates' | 'contained'>;

/**
 * Returns the difference that a document makes as lines for invalid, added, removed, repeated and contained entries.
 * @param most most lines of each kind; a further line counts the omitted lines
 */
export function differenceLines(
  difference: Difference,
  tr: Translator,
  most = Number.POSITIVE_INFINITY,
): DifferenceLine[] {
  const { _, ngettext } = tr;
  const kinds: [DifferenceKind, count: number, text: (at: number) => string][] = [
    [
      'invalid',
      difference.invalid.length,
      // Translators: %d is the number of a line, %s what is wrong with it
      at => fill(_('line %d: %s'), difference.invalid[at]!.line, reasonOf(difference.invalid[at]!, tr)),
    ],
    ['add', difference.add.length, at => difference.add[at]!.value],
    ['remove', difference.remove.length, at => difference.remove[at]!.value],
    [
      'duplicate',
      difference.duplicates.length,
      at => {
        const { line, value, first } = difference.duplicates[at]!;
        // Translators: number of a line, its entry, number of another line
        return fill(_('line %d: %s is in line %d already'), line, value, first);
      },
    ],
    [
      'contained',
      difference.contained.length,
      at => {
        const { line, value, in: wider } = difference.contained[at]!;
        // Translators: number of a line, its entry, a wider entry such as 10.0.0.0/8
        return fill(_('line %d: %s is part of %s'), line, value, wider);
      },
    ],
  ];
  return kinds.flatMap(([kind, count, text]) => {
    const lines = Array.from({ length: Math.min(count, most) }, (_each, at) => ({
      kind,
      mark: MARKS[kind],
      text: text(at),
    }));
    const left = count - lines.length;
    // Translators: lines of a difference that are not shown
    const more = fill(ngettext('… and %d more', '… and %d more', left), formatCount(left, tr));
    return left > 0 ? [...lines, { kind, mark: ' ', text: more }] : lines;
  });
}

/** Joins the lines into a text. */
export function differenceText(lines: readonly Pick<DifferenceLine, 'mark' | 'text'>[]): string {
  return lines.map(({ mark, text }) => `${mark} ${text}`).join('\n');
}

/** Words the size of a change: `2 to add, 1 to remove, 14 unchanged, 0 invalid`. */
export function differenceTotal(
  { add, remove, unchanged, invalid }: Pick<RoutesPreview, 'add' | 'remove' | 'unchanged' | 'invalid'>,
  tr: Translator,
): string {
  const counts = [add.length, remove.length, unchanged, invalid.length].map(count => formatCount(count, tr));
  // Translators: numbers of entries
  return fill(tr._('%s to add, %s to remove, %s unchanged, %s invalid'), ...counts);
}

/** Names the networks in a preset. */
export function presetName(id: RoutesPresets['presets'][number]['id'], { _ }: Translator): string {
  const names: Record<typeof id, string> = {
    lan: _('Local networks'),
    docker: _('Docker networks'),
    podman: _('Podman networks'),
    libvirt: _('Virtual machines (libvirt)'),
    kubernetes: _('Kubernetes networks'),
    tailscale: _('Tailscale'),
    ssh: _('Open SSH sessions'),
  };
  return names[id] ?? id;
}

/** Words how a document was set. */
export function causeName(cause: RoutesCause, { _ }: Translator): string {
  const names: Record<RoutesCause, string> = {
    edit: _('Edited'),
    import: _('Imported'),
    add: _('Entries added'),
    remove: _('Entries removed'),
    preset: _('Preset added'),
    settings: _('From a settings file'),
    api: _('By a program'),
    undo: _('Undone'),
    revert: _('Reverted'),
    outside: _('Set outside Culvert'),
  };
  return names[cause] ?? cause;
}
