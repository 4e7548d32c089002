// Holds the words of "would this go through the tunnel?".
import type { Why, WhyAddress } from '../../api/schema.ts';
import type { Form, Row, Tone } from '../form.ts';
import { worded } from '../message.ts';
import { fill, type Translator } from '../translator.ts';

export interface WhyText {
  /** Its way, in one sentence. */
  verdict: string;
  /** The rule that decided. */
  because: string;
  /** The kernel's answer. */
  kernel: string;
  /** A next step where forecast and kernel disagree. */
  advice: string | null;
}

/** The words for one address of a target. */
export function whyText(address: WhyAddress, why: Why, tr: Translator): WhyText {
  const { _ } = tr;
  return {
    verdict: verdictOf(address, tr),
    because: becauseOf(address, why, tr),
    kernel: kernelOf(address, why, tr),
    advice: address.disagrees
      ? _('The system routes it differently; another program may have changed it. Run culvert doctor.')
      : null,
  };
}

/**
 * A field to ask "would this go through the tunnel?", and the last answer: for each address the forecast and, side by
 * side, what the kernel says.
 * @param ask gets the answer for what was typed
 */
export function whyForm(answer: Why | null, ask: (target: string) => Promise<unknown>, tr: Translator): Form {
  const { _ } = tr;
  const field: Row = {
    kind: 'entry',
    id: 'target',
    title: _('Does this site use WARP?'),
    label: _('Check'),
    placeholder: 'example.com',
    check: () => null,
    command: target => ({ ask: { kind: 'work', changes: false, work: () => ask(target) } }),
  };
  return {
    groups: [
      { id: 'ask', rows: [field] },
      { id: 'answer', rows: answer ? answerRows(answer, tr) : [] },
    ],
  };
}

function answerRows(why: Why, tr: Translator): Row[] {
  const { _ } = tr;
  const { addresses, target, fallback, resolveProblem, wording } = why;
  const note = (id: string, title: string, subtitle: string, tone: Tone = 'neutral'): Row => ({
    kind: 'note',
    id,
    title,
    subtitle,
    tone,
  });
  return [
    ...addresses.flatMap((each): Row[] => {
      const { verdict, because, kernel, advice } = whyText(each, why, tr);
      const title = each.address === target.value ? each.address : `${target.value} · ${each.address}`;
      const answer = note(each.address, title, [verdict, because, kernel].join('\n'), verdictTone(each));
      return advice === null ? [answer] : [answer, note(`${each.address} advice`, _('Warning'), advice, 'warning')];
    }),
    ...(fallback
      ? [
          note(
            'fallback',
            fallback.domain,
            // Translators: %s is a list of addresses
            fill(_('Names below this domain bypass WARP; %s resolves them.'), fallback.resolvers.join(', ') || '–'),
          ),
        ]
      : []),
    ...(resolveProblem ? [note('problem', target.value, worded(resolveProblem, wording, tr), 'warning')] : []),
  ];
}

/** An answer that the kernel contradicts is not green. */
function verdictTone({ tunnel, disagrees }: WhyAddress): Tone {
  return tunnel && !disagrees ? 'success' : 'warning';
}

function verdictOf({ tunnel, blocked }: WhyAddress, { _ }: Translator): string {
  if (tunnel === null) return _('It is not known where this goes.');
  if (tunnel) return _('This goes through the tunnel.');
  return blocked ? _('This would bypass WARP, and the kill switch blocks it.') : _('This bypasses WARP.');
}

function becauseOf({ reason, entry }: WhyAddress, { list, proxy }: Why, { _ }: Translator): string {
  switch (reason) {
    case 'own':
      return _('It is an address of this computer.');
    case 'disconnected':
      return _('The tunnel is not connected.');
    case 'dns-only':
      return _('The mode encrypts DNS only; there is no tunnel.');
    case 'proxy-only':
      return proxy === null
        ? _('Only apps that use the local proxy go through the tunnel.')
        : // Translators: %s is an address such as 127.0.0.1:40000
          fill(_('Only apps that use the proxy at %s go through the tunnel.'), proxy);
    case 'entry':
      return list === 'include'
        ? // Translators: %s is an entry of the list, such as 10.0.0.0/8
          fill(_('The split tunnel includes %s.'), entry ?? '')
        : fill(_('The split tunnel excludes %s.'), entry ?? '');
    case 'default':
      return list === 'include'
        ? _('The split tunnel includes certain addresses only, and this is not among them.')
        : _('No entry of the split tunnel excludes it.');
    default:
      return _('The state of the tunnel or its list of routes is not known.');
  }
}

function kernelOf({ kernel, kernelProblem, wording }: WhyAddress, { demo }: Why, tr: Translator): string {
  const { _ } = tr;
  if (demo) return worded(kernelProblem ?? '', wording, tr);
  if (!kernel) return fill(_('The kernel could not be asked: %s'), worded(kernelProblem ?? '', wording, tr));
  // Translators: the two %s are a device such as eth0 and an address
  if (kernel.gateway) return fill(_('The kernel sends it to %s by %s.'), kernel.gateway, kernel.device ?? '?');
  return fill(_('The kernel sends it by %s.'), kernel.device ?? '?');
}
