// Renders a symbolic icon in the color of the text around it.
import states from 'icons:hicolor/scalable/status';
import setup from 'icons:panel?cli-missing|not-authorized|not-registered|service-stopped|terms';

/** The icons of the first page by name; the script of the further pages adds theirs. */
export const ICONS = new Map(Object.entries({ ...states, ...setup }));

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
