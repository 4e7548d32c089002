// Describes the cards for the three most common modes, and the question before a change of mode.
import type { Mode, Snapshot } from '../../../api/schema.ts';
import { modeName } from '../../client/labels.ts';
import { actionCommand, type Command, type Question, type Row } from '../../form.ts';
import { toBeConfirmed } from '../../states/changes.ts';
import type { TunnelView } from '../../states/tunnel.ts';
import { fill, type Translator } from '../../translator.ts';
import type { View } from '../../view.ts';

const CARDS = ['warp', 'doh', 'proxy'] as const satisfies readonly Mode[];
/** Modes in which WARP tunnels only part of the traffic. */
const PARTIAL: readonly string[] = ['doh', 'dot', 'proxy'];

export interface ModeCard {
  mode: Mode;
  title: string;
  meaning: string;
  /** True for the mode that WARP reports. */
  active: boolean;
  command: Command;
}

interface ModeChoice {
  heading: string;
  /** Why the cards are disabled, or the present mode if no card shows it. */
  remark: string | null;
  sensitive: boolean;
  cards: ModeCard[];
  /** Label of the link to the page of all modes. */
  more: string;
}

/** Returns the row that opens the choice of a mode. */
export function modeLink({ modeTitle }: TunnelView, { _ }: Translator): Extract<Row, { kind: 'link' }> {
  return { kind: 'link', id: 'mode', title: _('Mode'), value: modeTitle, page: 'mode', task: 'choose-mode' };
}

export function describeModeChoice({ client, tunnel }: Pick<View, 'client' | 'tunnel'>, tr: Translator): ModeChoice {
  const { _ } = tr;
  const { snapshot, offline } = client;
  const now = snapshot?.settings.Mode;
  const isLocked = snapshot?.options.modeLocked === true;
  const other = now === undefined || CARDS.some(mode => mode === now) ? null : fill(_('Mode: %s'), tunnel.modeTitle);
  return {
    heading: _('What goes through the tunnel'),
    remark:
      offline || tunnel.setup
        ? tunnel.sentence
        : isLocked
          ? _('Your organization decides the mode.')
          : tunnel.settable
            ? other
            : _('Waiting for WARP…'),
    sensitive: tunnel.settable && !isLocked,
    cards: CARDS.map(mode => {
      const { title, subtitle } = modeName(mode, tr);
      return { mode, title, meaning: subtitle, active: mode === now, command: modeCommand(snapshot, mode, tr) };
    }),
    more: _('More'),
  };
}

/** Changes the mode; asks first if less traffic would be tunneled than now. */
export function modeCommand(snapshot: Snapshot | null, mode: Mode, tr: Translator): Command {
  return actionCommand({ action: 'setMode', value: mode, ...toBeConfirmed(snapshot) }, question(snapshot, mode, tr));
}

function question(snapshot: Snapshot | null, mode: Mode, { _ }: Translator): { confirm?: Question } {
  const now = snapshot?.settings.Mode ?? '';
  const loses = snapshot?.status.state === 'connected' && !PARTIAL.includes(now) && PARTIAL.includes(mode);
  if (!loses) return {};
  return {
    confirm: {
      heading: _('Tunnel less than now?'),
      body: _('All traffic is tunneled now. In this mode most of it bypasses WARP.'),
      accept: _('Change Mode'),
      destructive: true,
    },
  };
}
