// Renders the symbolic icon of a state in the color of the text around it.

import blocked from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-blocked-symbolic.svg';
import connected from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-connected-symbolic.svg';
import connecting from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-connecting-symbolic.svg';
import disconnected from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-disconnected-symbolic.svg';
import disconnecting from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-disconnecting-symbolic.svg';
import needsYou from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-needs-you-symbolic.svg';
import paused from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-paused-symbolic.svg';
import unable from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-unable-symbolic.svg';
import unknown from '../../../data/icons/hicolor/scalable/status/org.culvert.Culvert-unknown-symbolic.svg';
import { STATES, type State } from '../../api/states.ts';
import { stateIcon } from '../../view/states/state-table.ts';

const ICONS: Record<State, readonly { d: string; opacity?: number }[]> = {
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

/** @param name icon name from daemon/view, such as `org.culvert.Culvert-connected-symbolic` */
export function Icon({ name }: { name: string }) {
  const paths = ICONS[STATES.find(state => stateIcon(state) === name) ?? 'unknown'];
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {paths.map(({ d, opacity }) => (
        <path key={d} d={d} fill-rule="evenodd" opacity={opacity} />
      ))}
    </svg>
  );
}
