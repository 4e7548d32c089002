// Describes the row that shows the mode, and the question before a change of mode.
import type { Mode, Snapshot } from '../../../api/schema.ts';
import { actionCommand, type Command, type Question, type Row } from '../../form.ts';
import { toBeConfirmed } from '../../states/changes.ts';
import { tunneledText } from '../../states/coverage.ts';
import { blockedRest } from '../../states/killswitch.ts';
import type { TunnelView } from '../../states/tunnel.ts';
import type { Translator } from '../../translator.ts';

/** Modes without a tunnel device: WARP encrypts only DNS, or serves only what uses its proxy. */
const TUNNELLESS: readonly string[] = ['doh', 'dot', 'proxy'];

/** Returns the row that opens the choice of a mode. */
export function modeLink({ modeTitle, lock }: TunnelView, { _ }: Translator): Row {
  return { kind: 'link', id: 'mode', title: _('Mode'), subtitle: lock, value: modeTitle, page: 'mode' };
}

/** Changes the mode; asks first if less traffic would be tunneled than now. */
export function modeCommand(snapshot: Snapshot | null, mode: Mode, tr: Translator): Command {
  return actionCommand({ action: 'setMode', value: mode, ...toBeConfirmed(snapshot) }, question(snapshot, mode, tr));
}

function question(snapshot: Snapshot | null, mode: Mode, tr: Translator): { confirm?: Question } {
  const { _ } = tr;
  const now = snapshot?.settings.Mode ?? '';
  const loses = snapshot?.status.state === 'connected' && !TUNNELLESS.includes(now) && TUNNELLESS.includes(mode);
  if (!loses) return {};
  return {
    confirm: {
      heading: _('Tunnel less than now?'),
      body: [tunneledText(snapshot, tr), _('In this mode most traffic bypasses WARP.'), blockedRest(snapshot, tr)]
        .filter(Boolean)
        .join(' '),
      accept: _('Change Mode'),
      destructive: true,
    },
  };
}
