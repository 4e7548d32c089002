// Limits how often the network is tested for a login page: every local user may ask, and the test goes past the kill switch.
import { SwitchError } from '../switch-error.ts';
import { N_ } from '../wording.ts';
import { hasChanged, type Link } from './link.ts';
import type { Verdict } from './verdict.ts';
import type { SignInWindow } from './window.ts';
import type { WindowEdges } from './window-edges.ts';

/** Seconds between two tests. */
const APART = 30;

export interface Detection {
  /**
   * Tests the network, or repeats what was found on it moments ago.
   * @throws SwitchError as `SignInWindow.detect`; LimitsExceeded on another network than moments ago
   */
  detect(): Promise<Verdict>;
}

export function createDetection(
  window: Pick<SignInWindow, 'detect'>,
  { link, now }: Pick<WindowEdges, 'link' | 'now'>,
): Detection {
  let last: { at: number; on: Link | null; verdict: Promise<Verdict> } | null = null;
  return {
    async detect() {
      const on = link();
      if (last && now() - last.at < APART) {
        if (last.on && !hasChanged(last.on, on)) return last.verdict;
        throw new SwitchError('LimitsExceeded', N_('A network was tested moments ago. Try again in half a minute.'));
      }
      const test = { at: now(), on, verdict: window.detect() };
      last = test;
      // nothing was sent
      test.verdict.catch(() => {
        if (last === test) last = null;
      });
      return test.verdict;
    },
  };
}
