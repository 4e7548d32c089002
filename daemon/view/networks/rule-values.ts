// Names the values of a rule for networks by what they change.
import type { DecidedEffect, NetworkEffects } from '../../api/networks.ts';

/** The value of each subject; undefined if the rule says nothing about it. */
export function ruleValues(effects: NetworkEffects): { [S in DecidedEffect['subject']]: string | undefined } {
  const { warp, mode, protocol, killSwitch, routes } = effects;
  return {
    connection: warp && (warp === 'connect' ? 'on' : 'off'),
    mode,
    protocol,
    killSwitch: killSwitch && 'on',
    routes,
  };
}
