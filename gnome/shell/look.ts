// Converts the properties of org.culvert.Client1 to the contents of the tile and its menu; pure.
import { CONFIRM_SECONDS } from '../../daemon/view/form.ts';
import { formatElapsed, pauseText } from '../../daemon/view/format.ts';
import { unavailableText } from '../../daemon/view/states/state-table.ts';
import { fill, type Translator } from '../../daemon/view/translator.ts';

/** Properties that the tile reads (org.culvert.Client1(5)). */
export interface Properties {
  State: string;
  StatusText: string;
  Icon: string;
  PauseEnds: number;
  Pauses?: number[];
  ToggleAction: string;
  ToggleText: string;
  CanToggle: boolean;
  RemedyText: string;
  Mode: string;
  Modes: [id: string, name: string, sensitive: boolean][];
  KillSwitch: string;
  CanSetKillSwitch: boolean;
  Pending: { text?: string };
}

/** Method call with the signature and the values of its arguments. */
export interface Call {
  method: string;
  signature: string;
  args: unknown[];
}

export type Item =
  | { kind: 'text'; label: string }
  | { kind: 'separator'; label: string }
  | { kind: 'action' | 'choice' | 'switch'; label: string; on: boolean; sensitive: boolean; call: Call };

export interface Look {
  icon: string;
  subtitle: string;
  /** Subtitle in two or three words, for the tile. */
  short: string;
  /** True if the tile is lit: traffic is protected, or about to be. */
  on: boolean;
  /** Call that a press of the tile makes; null if nothing can be switched now. */
  toggle: Call | null;
  items: Item[];
}

/** Pauses to offer if an older bridge has no `Pauses`, in seconds. */
const PAUSES = [900, 3600];
/** Values of `State` at which the tile is lit. WARP that fails to connect protects nothing. */
const LIT = ['connected', 'connecting'];
/** Values of `KillSwitch` at which its switch is on. */
const SWITCHED_ON = ['on', 'paused', 'unmeasured', 'missing'];

const call = (method: string, signature = '()', ...args: unknown[]): Call => ({ method, signature, args });
const OPEN = call('Open', '(sa{sv})', '', {});

/** @param shown null while no bridge is on the bus, which reads as unknown. @param now in ms since the epoch */
export function lookOf(shown: Properties | null, now: number, tr: Translator): Look {
  const open = action(tr._('Open Culvert'), OPEN);
  if (!shown) {
    const subtitle = unavailableText(tr);
    const icon = 'org.culvert.Culvert-unknown-symbolic';
    return { icon, subtitle, short: subtitle, on: false, toggle: null, items: [open] };
  }
  const { State, StatusText, Icon, ToggleAction, ToggleText, CanToggle } = shown;
  const left = timeLeft(shown, now, tr);
  const isLit = LIT.includes(State);
  const disconnects = ToggleAction === 'disconnect' && CanToggle;
  const connects = ToggleAction === 'connect' && CanToggle;
  return {
    icon: Icon,
    subtitle: left === null ? StatusText : `${StatusText} · ${left}`,
    short: StatusText,
    on: isLit,
    // a press of a tile that is not lit must not turn WARP off
    toggle: connects ? call('Connect') : disconnects && isLit ? call('Disconnect') : null,
    items: separated([
      urgentItems(shown, tr),
      disconnects && !isLit ? [action(ToggleText, call('Disconnect'))] : [],
      modeItems(shown, tr),
      disconnects
        ? (shown.Pauses ?? PAUSES).map(seconds => action(pauseText(seconds / 60, tr), call('Pause', '(u)', seconds)))
        : [],
      killSwitchItems(shown, tr),
      [open],
    ]),
  };
}

/** Returns a pause's remaining time; null in every other state, and after the pause. */
function timeLeft({ State, PauseEnds }: Properties, now: number, tr: Translator): string | null {
  const seconds = PauseEnds / 1e6 - now / 1000;
  if (State !== 'paused' || seconds <= 0) return null;
  // whole minutes, so that a minute that has begun counts
  return fill(tr._('%s left'), formatElapsed(60 * Math.ceil(seconds / 60), tr));
}

/** Returns items for the remedy and for the change that reverts unless it is kept. */
function urgentItems({ RemedyText, Pending }: Properties, { _ }: Translator): Item[] {
  const { text } = Pending;
  return [
    ...(RemedyText ? [action(RemedyText, call('Remedy', '(a{sv})', {}))] : []),
    ...(text
      ? [
          { kind: 'text' as const, label: text.replaceAll('\n', ' · ') },
          action(_('Keep'), call('Keep')),
          action(_('Revert Now'), call('Revert')),
        ]
      : []),
  ];
}

/** Returns the modes. A change while the tunnel is up can cut the user off, so it reverts unless it is kept. */
function modeItems({ State, Mode, Modes }: Properties, { _ }: Translator): Item[] {
  const options = State === 'connected' ? { 'confirm-within': CONFIRM_SECONDS } : {};
  const choices = Modes.map(
    ([id, label, sensitive]): Item => ({
      kind: 'choice',
      label,
      on: id === Mode,
      sensitive,
      call: call('SetMode', '(sa{sv})', id, options),
    }),
  );
  return choices.length ? [{ kind: 'separator', label: _('Mode') }, ...choices] : [];
}

function killSwitchItems({ KillSwitch, CanSetKillSwitch }: Properties, { _ }: Translator): Item[] {
  if (KillSwitch === 'not-installed' || KillSwitch === 'unknown') return [];
  const on = SWITCHED_ON.includes(KillSwitch);
  const options = on ? {} : { 'confirm-within': CONFIRM_SECONDS };
  const set = call('SetKillSwitch', '(ba{sv})', !on, options);
  return [{ kind: 'switch', label: _('Kill Switch'), on, sensitive: CanSetKillSwitch, call: set }];
}

function action(label: string, call: Call): Item {
  return { kind: 'action', label, on: false, sensitive: true, call };
}

/** Joins the nonempty groups with separators; a group may begin with its own separator. */
function separated(groups: Item[][]): Item[] {
  return groups
    .filter(group => group.length > 0)
    .flatMap((group, i) =>
      i > 0 && group[0]!.kind !== 'separator' ? [{ kind: 'separator', label: '' } as const, ...group] : group,
    );
}
