// Renders a symbolic icon in the color of the text around it.
import blocked from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-blocked-symbolic.svg';
import connected from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-connected-symbolic.svg';
import connecting from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-connecting-symbolic.svg';
import disconnected from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-disconnected-symbolic.svg';
import disconnecting from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-disconnecting-symbolic.svg';
import needsYou from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-needs-you-symbolic.svg';
import paused from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-paused-symbolic.svg';
import unable from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-unable-symbolic.svg';
import unknown from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-unknown-symbolic.svg';
import cliMissing from '../../../data/icons/panel/culvert-cli-missing-symbolic.svg';
import markFine from '../../../data/icons/panel/culvert-mark-fine-symbolic.svg';
import markHint from '../../../data/icons/panel/culvert-mark-hint-symbolic.svg';
import markProblem from '../../../data/icons/panel/culvert-mark-problem-symbolic.svg';
import markWaiting from '../../../data/icons/panel/culvert-mark-waiting-symbolic.svg';
import notAuthorized from '../../../data/icons/panel/culvert-not-authorized-symbolic.svg';
import notRegistered from '../../../data/icons/panel/culvert-not-registered-symbolic.svg';
import serviceStopped from '../../../data/icons/panel/culvert-service-stopped-symbolic.svg';
import termsNotAccepted from '../../../data/icons/panel/culvert-terms-not-accepted-symbolic.svg';
import { STATES, type State } from '../../api/states.ts';
import { stateIcon } from '../../view/states/state-table.ts';

type Paths = readonly { d: string; opacity?: number }[];

const STATE_ICONS: Record<State, Paths> = {
  connected,
  connecting,
  disconnecting,
  disconnected,
  paused,
  blocked,
  unable,
  'needs-you': needsYou,
  unknown,
};

/** The icons of the first page by name; the script of the further pages adds theirs. */
export const ICONS = new Map<string, Paths>([
  ...STATES.map(state => [stateIcon(state), STATE_ICONS[state]] as const),
  ['culvert-cli-missing-symbolic', cliMissing],
  ['culvert-mark-fine-symbolic', markFine],
  ['culvert-mark-hint-symbolic', markHint],
  ['culvert-mark-problem-symbolic', markProblem],
  ['culvert-mark-waiting-symbolic', markWaiting],
  ['culvert-not-authorized-symbolic', notAuthorized],
  ['culvert-not-registered-symbolic', notRegistered],
  ['culvert-service-stopped-symbolic', serviceStopped],
  ['culvert-terms-not-accepted-symbolic', termsNotAccepted],
]);

/** @param name icon name from daemon/view, such as `org.culvert.Culvert-connected-symbolic` */
export function Icon({ name }: { name: string }) {
  const paths = ICONS.get(name) ?? [];
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {paths.map(({ d, opacity }) => (
        <path key={d} d={d} fill-rule="evenodd" opacity={opacity} />
      ))}
    </svg>
  );
}
