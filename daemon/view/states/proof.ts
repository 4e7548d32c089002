// Words the proof that requests use the tunnel, with the place where the user appears and the time of the check.
import type { Proof } from '../../api/why.ts';
import type { ClientState } from '../client/client-state.ts';
import { modeTunnelsRequests } from '../client/labels.ts';
import type { Command, Tone } from '../form.ts';
import { timeOfDay } from '../format.ts';
import { message, wordMessage } from '../message.ts';
import { placeName } from '../places.ts';
import { fill, type Translator } from '../translator.ts';

export interface ProofView {
  /** `You appear in Frankfurt, 104.28.0.1 — verified just now`; null before the user asks. */
  text: string | null;
  tone: Tone;
  button: { label: string; name: string; command: Command; sensitive: boolean };
}

/** Text in the demo, which never checks the route of real traffic. */
export const NOT_IN_DEMO = message('Not in the demo');

const JUST_NOW_MS = 60_000;

/**
 * Describes the proof; null while no request can use the tunnel.
 * @param now in ms since the epoch
 */
export function describeProof(
  { snapshot, offline, proof }: ClientState,
  now: number,
  tr: Translator,
): ProofView | null {
  const { _ } = tr;
  if (!snapshot || offline || snapshot.status.blocked || snapshot.status.state !== 'connected') return null;
  if (!modeTunnelsRequests(snapshot.settings.Mode)) return null;
  const demo = snapshot.tunnelCli.emulated;
  const asking = proof?.result === null;
  const result = proof?.result ?? null;
  return {
    text: result && (demo ? wordMessage(NOT_IN_DEMO, tr) : resultText(result, now, tr)),
    // a check that failed proves nothing
    tone: !result?.answered || demo ? 'neutral' : result.through ? 'success' : 'warning',
    button: {
      label: asking ? _('Checking…') : _('Check'),
      name: asking ? _('Checking…') : _('Check where you appear'),
      command: { ask: { kind: 'proof' } },
      sensitive: !asking,
    },
  };
}

function resultText({ through, answered, seen, address, dataCenter, at }: Proof, now: number, tr: Translator): string {
  const { _ } = tr;
  // Translators: %s says why a page could not be read
  if (!answered) return fill(_('Couldn’t check: %s'), wordMessage(seen, tr));
  // Translators: %s says what a page saw of a request
  if (!through) return fill(_('Not through WARP: %s'), wordMessage(seen, tr));
  const place = dataCenter && placeName(dataCenter);
  const appearance =
    place && address
      ? // Translators: a city, then an IP address
        fill(_('You appear in %s, %s'), place, address)
      : place
        ? // Translators: %s is a city
          fill(_('You appear in %s'), place)
        : address
          ? // Translators: %s is an IP address
            fill(_('You appear as %s'), address)
          : _('Your requests go through WARP');
  // Translators: %s is such as: You appear in Frankfurt, 104.28.0.1
  if (now - Date.parse(at) < JUST_NOW_MS) return fill(_('%s — verified just now'), appearance);
  // Translators: the first %s is such as: You appear in Frankfurt, 104.28.0.1; the second one a time of day
  return fill(_('%s — verified at %s'), appearance, timeOfDay(at, false));
}
