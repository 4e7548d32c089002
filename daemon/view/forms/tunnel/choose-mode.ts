// Describes the choice among the three modes of most people, which window and page show as cards, and what choosing any mode asks.
import type { Mode, Snapshot } from '../../../api/schema.ts';
import { modeName } from '../../client/labels.ts';
import { actionCommand, type Command, type Question, type Row } from '../../form.ts';
import { toBeConfirmed } from '../../states/changes.ts';
import type { TunnelView } from '../../states/tunnel.ts';
import { fill, type Translator } from '../../translator.ts';
import type { View } from '../../view.ts';

const CARDS = ['warp', 'doh', 'proxy'] as const satisfies readonly Mode[];
/** Modes in which only a part of the traffic is tunneled. */
const PARTIAL: readonly string[] = ['doh', 'dot', 'proxy'];

export interface ModeCard {
  mode: Mode;
  title: string;
  meaning: string;
  /** The confirmed mode. */
  active: boolean;
  command: Command;
}

interface ModeChoice {
  heading: string;
  /** Why no card can be used now, or else the mode where no card has it. */
  remark: string | null;
  sensitive: boolean;
  cards: ModeCard[];
  /** Label of what leads to the page of all modes. */
  more: string;
}

/** The row that opens the choice. */
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

/** Changes the mode, after a question where traffic that is tunneled now would no longer be. */
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
