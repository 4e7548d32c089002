// Words the answers to "would this go through the tunnel?".
import type { Why, WhyAddress } from '../../api/schema.ts';
import { type Form, goTo, type Mark, noteRow, type Row, type Tone, workCommand } from '../form.ts';
import { worded } from '../message.ts';
import { fill, type Translator } from '../translator.ts';

/** The answer for the addresses of a target that share it, or for a name without addresses. */
interface WhyAnswer {
  /** The addresses; empty for a name without addresses. */
  addresses: readonly string[];
  /** True if they use the tunnel, by the kernel's answer, or else by the forecast; null if unknown or neither. */
  way: boolean | null;
  /** The route in a few words. */
  verdict: string;
  /** The reason for the forecast, in sentences. */
  because: readonly string[];
  /** The kernel's answer; null for a name without addresses. */
  kernel: string | null;
  /** True if the kill switch blocks them. */
  blocked: boolean;
  /** Says that forecast and kernel disagree, which the checks may explain; else null. */
  disagreement: string | null;
}

/** Words the answers for a target, each with the addresses that share it. Never empty. */
export function whyAnswers(why: Why, tr: Translator): WhyAnswer[] {
  if (why.addresses.length === 0) return [nameAnswer(why, tr)];
  const answers = new Map<string, WhyAnswer>();
  for (const address of why.addresses) {
    const { addresses, ...answer } = addressAnswer(address, why, tr);
    const key = JSON.stringify(answer);
    answers.set(key, { ...answer, addresses: [...(answers.get(key)?.addresses ?? []), ...addresses] });
  }
  return [...answers.values()];
}

function addressAnswer(each: WhyAddress, why: Why, tr: Translator): WhyAnswer {
  const { address, kernel, tunnel, forecast = tunnel, blocked, disagrees } = each;
  const lost = lostVerdict(each, tr);
  const way = lost !== null ? null : kernel ? kernel.tunnel : forecast;
  return {
    addresses: [address],
    way,
    verdict: lost ?? verdictOf(way, { isForecast: !kernel, blocked }, tr),
    because: [becauseOf(each, why, tr)],
    kernel: kernelOf(each, why, tr),
    blocked: blocked && way === false,
    disagreement: disagrees ? tr._('The system sends it elsewhere than expected.') : null,
  };
}

/** Answers for a name without addresses: an entry of the split tunnel with its name decides, while a tunnel is connected. */
function nameAnswer(why: Why, tr: Translator): WhyAnswer {
  const { _ } = tr;
  const { target, resolveProblem, wording, nameEntry, nameForecast = null, nameBlocked = false, list } = why;
  const problem = resolveProblem
    ? // Translators: the first %s is a host name, the second a reason
      fill(_('%s could not be resolved: %s.'), target.value, worded(resolveProblem, wording, tr))
    : _('No address is known for this name.');
  const entry = nameEntry ? entryText(nameEntry, list, tr) : null;
  const forecast = verdictOf(nameForecast, { isForecast: true, blocked: nameBlocked }, tr);
  const unnamed =
    nameEntry === null // undefined from an older daemon
      ? [fill(_('No entry of the split tunnel names %s; its addresses would decide.'), target.value)]
      : [];
  return {
    addresses: [],
    way: nameForecast,
    verdict: nameForecast === null ? (entry ?? forecast) : forecast,
    because: entry === null ? [problem, ...unnamed] : nameForecast === null ? [problem] : [entry, problem],
    kernel: null,
    blocked: nameBlocked,
    disagreement: null,
  };
}

/**
 * Returns a form with a field for a target and the last answer, which has the kernel's route and the reason.
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
  const { target, fallback } = why;
  return [
    ...whyAnswers(why, tr).map((answer): Row => {
      const { addresses, verdict, because, kernel, disagreement } = answer;
      const named = addresses.includes(target.value) ? addresses : [target.value, ...addresses];
      const subtitle = [named.join(' · '), disagreement, ...because, kernel].filter(Boolean).join('\n');
      const row = { id: addresses[0] ?? 'problem', title: verdict, subtitle, ...lookOf(answer) };
      return disagreement === null
        ? { kind: 'note', ...row }
        : { kind: 'button', ...row, label: _('Run Checks'), command: goTo('checks') };
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
  ];
}

/** Returns the tone and mark, a warning only if the kernel disagrees with WARP or the kill switch blocks the target. */
function lookOf({ way, blocked, disagreement }: WhyAnswer): { tone: Tone; mark: Mark } {
  if (disagreement !== null || blocked) return { tone: 'warning', mark: 'problem' };
  return way ? { tone: 'success', mark: 'fine' } : { tone: 'neutral', mark: way === null ? 'hint' : 'off' };
}

/** Says that an address is lost: the kernel sends it nowhere, or to WARP without a connection; null for others. */
function lostVerdict({ kernel, reason }: WhyAddress, { _ }: Translator): string | null {
  if (kernel?.refusal !== undefined) return _('Goes nowhere');
  return kernel?.tunnel && reason === 'disconnected' ? _('The kernel sends it to WARP, which is not connected') : null;
}

function verdictOf(
  way: boolean | null,
  { isForecast, blocked }: { isForecast: boolean; blocked: boolean },
  { _ }: Translator,
): string {
  if (way === null) return _('It is not known where this goes');
  if (!way && blocked) return _('Blocked: it would bypass WARP');
  if (isForecast) return way ? _('Should go through WARP') : _('Should bypass WARP');
  return way ? _('Goes through WARP') : _('Bypasses WARP');
}

/** Says that an entry of the split tunnel decides. */
function entryText(entry: string, list: Why['list'], { _ }: Translator): string {
  return list === 'include'
    ? // Translators: %s is an entry of the list, such as 10.0.0.0/8
      fill(_('The split tunnel includes %s.'), entry)
    : fill(_('The split tunnel excludes %s.'), entry);
}

function becauseOf({ reason, entry }: WhyAddress, { list, proxy }: Why, tr: Translator): string {
  const { _ } = tr;
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
      return entryText(entry ?? '', list, tr);
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
  // Translators: %s is the kernel's error, in English
  if (kernel.refusal !== undefined) return fill(_('The kernel sends it nowhere: %s'), kernel.refusal);
  // Translators: the two %s are a device such as eth0 and an address
  if (kernel.gateway) return fill(_('The kernel sends it to %s by %s.'), kernel.gateway, kernel.device ?? '?');
  return fill(_('The kernel sends it by %s.'), kernel.device ?? '?');
}
