// Renders the symbolic icons of the states, drawn in the color of the text around them.

import connected from '../../../data/icons/hicolor/symbolic/status/org.culvert.Culvert-connected-symbolic.svg';
import connecting from '../../../data/icons/hicolor/symbolic/status/org.culvert.Culvert-connecting-symbolic.svg';
import disconnected from '../../../data/icons/hicolor/symbolic/status/org.culvert.Culvert-disconnected-symbolic.svg';
import disconnecting from '../../../data/icons/hicolor/symbolic/status/org.culvert.Culvert-disconnecting-symbolic.svg';
import setup from '../../../data/icons/hicolor/symbolic/status/org.culvert.Culvert-setup-symbolic.svg';
import unable from '../../../data/icons/hicolor/symbolic/status/org.culvert.Culvert-unable-symbolic.svg';
import unavailable from '../../../data/icons/hicolor/symbolic/status/org.culvert.Culvert-unavailable-symbolic.svg';
import unknown from '../../../data/icons/hicolor/symbolic/status/org.culvert.Culvert-unknown-symbolic.svg';

const ICONS: Record<string, readonly { d: string; opacity?: number }[]> = {
  connected,
  connecting,
  disconnected,
  disconnecting,
  setup,
  unable,
  unavailable,
  unknown,
};

/** @param name of daemon/view: `org.culvert.Culvert-connected-symbolic` */
export function Icon({ name }: { name: string }) {
  const paths = ICONS[/^org\.culvert\.Culvert-(\w+)-symbolic$/.exec(name)?.[1] ?? ''] ?? unknown;
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {paths.map(({ d, opacity }) => (
        <path key={d} d={d} fill-rule="evenodd" opacity={opacity} />
      ))}
    </svg>
  );
}
