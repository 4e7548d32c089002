// Publishes the kill switch to the daemon's clients: what the root service reports, or why its state is unknown.
import type { Change, KillSwitch } from '../../api/schema.ts';
import type { FeatureContext } from '../../controls.ts';
import { NO_KILL_SWITCH, setPart } from '../../state/store.ts';
import type { Report } from '../report.ts';
import { explained, type Message, message } from '../wording.ts';
import { absent, type Places } from './published-state.ts';
import type { ServiceLink } from './service-link.ts';

const { installed: _, command: __, ...REST } = NO_KILL_SWITCH;
const UNKNOWN: Report = { ...REST, ...explained([]) };

export function createPublisher({ state, settings }: FeatureContext, link: ServiceLink, places: Places) {
  /** Why the kill switch of the configuration is not in force, until it is changed. */
  let unmet: Message[] = [];

  /** @param report null if the state is unknown @param why the reason */
  function publish(report: Report | null, why: Message[] = []): KillSwitch {
    const installed = link.isInstalled();
    if (report?.enabled) unmet = []; // another client turned it on
    const facts = report ?? { ...UNKNOWN, enabled: state.snapshot().killSwitch.enabled };
    const value: KillSwitch = {
      ...facts,
      enabled: facts.enabled || (unmet.length > 0 && settings.config.warp.killSwitch),
      // while it is off, what turning it on would ask for
      allowLan: facts.enabled ? facts.allowLan : settings.config.warp.allowLan,
      ...(why.length ? explained(why) : facts.detail === null && unmet.length ? explained(unmet) : {}),
      installed,
      ...(installed ? { command: null } : { command: absent(places).command }),
    };
    state.set('killSwitch', value);
    setPart(state, 'kill-switch', changesOf(value));
    return value;
  }

  /** The state that the service last published. */
  function publishFile(): KillSwitch {
    if (!link.isInstalled()) return publishAbsent();
    const read = link.published();
    return 'unreadable' in read ? publish(null, [read.unreadable]) : publish(read);
  }

  function publishAbsent(): KillSwitch {
    const { killSwitch } = settings.config.warp;
    const why = message('The root service is not installed, so nothing is blocked.');
    const { command: _, ...reason } = absent(places);
    return publish({
      ...UNKNOWN,
      enabled: killSwitch,
      ...explained(killSwitch ? [why] : []),
      ...(reason.detail ? reason : {}),
    });
  }

  return {
    publish,
    publishFile,
    publishAbsent,
    setUnmet(why: Message[]): void {
      unmet = why;
    },
  };
}

/** The unconfirmed change, as clients show each of them. */
function changesOf({ enabled, allowLan, unconfirmed }: KillSwitch): Change[] {
  if (!unconfirmed) return [];
  const { setAt, confirmBy, previous } = unconfirmed;
  const change = { subject: 'killSwitch' as const, value: wordOf({ enabled, allowLan }), previous: wordOf(previous) };
  return [{ ...change, setAt, confirmBy, endsAt: null, endingSoon: false, problem: null }];
}

function wordOf({ enabled, allowLan }: { enabled: boolean; allowLan: boolean }): string {
  if (!enabled) return 'off';
  return allowLan ? 'on-lan' : 'on';
}
