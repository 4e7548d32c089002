// Words the answers to "would this go through the tunnel?".
import type { Why, WhyAddress } from '../../api/schema.ts';
import { type Form, noteRow, type Row, type Tone, workCommand } from '../form.ts';
import { worded } from '../message.ts';
import { fill, type Translator } from '../translator.ts';

interface WhyText {
  /** The route in one sentence: the kernel's answer, or else the forecast. */
  verdict: string;
  /** The kernel's answer. */
  kernel: string;
  /** The reason for the forecast. */
  because: string;
  /** A next step if forecast and kernel disagree, or null. */
  advice: string | null;
}

/** True if an address uses the tunnel, by the kernel's answer, or else by the forecast; null if unknown. */
export function wayOf({ kernel, tunnel, forecast = tunnel }: WhyAddress): boolean | null {
  return kernel ? kernel.tunnel : forecast;
}

/**
 * Says why a name has no address, and which entry of the split tunnel names it. Empty for a target with addresses.
 */
export function nameText(why: Why, tr: Translator): string[] {
  const { _ } = tr;
  const { addresses, target, resolveProblem, wording, nameEntry, list } = why;
  if (addresses.length > 0) return [];
  const problem = resolveProblem
    ? // Translators: the first %s is a host name, the second a reason
      fill(_('%s could not be resolved: %s.'), target.value, worded(resolveProblem, wording, tr))
    : _('No address is known for this name.');
  if (nameEntry === undefined) return [problem]; // an older daemon, or an address
  if (nameEntry === null)
    return [problem, fill(_('No entry of the split tunnel names %s; its addresses would decide.'), target.value)];
  return [
    list === 'include'
      ? fill(_('The split tunnel includes %s, whatever its addresses are.'), nameEntry)
      : fill(_('The split tunnel excludes %s, whatever its addresses are.'), nameEntry),
    problem,
  ];
}

/** Words the answer for one address of a target. */
export function whyText(address: WhyAddress, why: Why, tr: Translator): WhyText {
  const { _ } = tr;
  return {
    verdict: verdictOf(address, tr),
    kernel: kernelOf(address, why, tr),
    because: becauseOf(address, why, tr),
    advice: address.disagrees
      ? _('That is not what WARP’s settings say; another program may have changed it. Run culvert doctor.')
      : null,
  };
}

/**
 * Returns a form with a field for a target and the last answer, which has the kernel's route and the forecast of each
 * address.
 * @param ask requests the answer for the typed target
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
    command: target => workCommand(() => ask(target)),
  };
  return {
    groups: [
      { id: 'ask', rows: [field] },
      { id: 'answer', live: true, rows: answer ? answerRows(answer, tr) : [] },
    ],
  };
}

function answerRows(why: Why, tr: Translator): Row[] {
  const { _ } = tr;
  const { addresses, target, fallback } = why;
  return [
    ...addresses.flatMap((each): Row[] => {
      const { verdict, because, kernel, advice } = whyText(each, why, tr);
      const title = each.address === target.value ? each.address : `${target.value} · ${each.address}`;
      const answer = noteRow(each.address, title, [verdict, kernel, because].join('\n'), verdictTone(each));
      return advice === null ? [answer] : [answer, noteRow(`${each.address} advice`, _('Warning'), advice, 'warning')];
    }),
    ...(fallback
      ? [
          noteRow(
            'fallback',
            fallback.domain,
            // Translators: %s is a list of addresses
            fill(_('Names below this domain bypass WARP; %s resolves them.'), fallback.resolvers.join(', ') || '–'),
          ),
        ]
      : []),
    ...(addresses.length === 0 ? [noteRow('problem', target.value, nameText(why, tr).join('\n'))] : []),
  ];
}

/** Returns the tone, a warning only if the kernel disagrees with WARP or the kill switch blocks the address. */
function verdictTone(address: WhyAddress): Tone {
  if (address.disagrees || address.blocked) return 'warning';
  return wayOf(address) ? 'success' : 'neutral';
}

function verdictOf(address: WhyAddress, { _ }: Translator): string {
  const way = wayOf(address);
  if (way === null) return _('It is not known where this goes.');
  if (!way && address.blocked) return _('This would bypass WARP, and the kill switch blocks it.');
  if (!address.kernel) return way ? _('This should go through the tunnel.') : _('This should bypass WARP.');
  return way ? _('This goes through the tunnel.') : _('This bypasses WARP.');
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
