// override …: exceptions from what an organization prescribes.
import { notAuthorized, type Operation, refuse, say, success } from '../answer.ts';

const HOUR = 3_600_000;

export const showOverride: Operation = ({ state, now }) => {
  const until = state.override && state.override.until > now ? state.override.until : null;
  if (until === null) return say('No override currently set\n', { override: null });
  const seconds = Math.ceil((until - now) / 1000);
  return say(`Override ends in ${seconds}s\n`, { override: { ends_in_secs: seconds } });
};
export const unlock: Operation = ({ state, now }, [code = '']) => {
  if (!/^[A-Za-z0-9-]{4,}$/.test(code)) return refuse('InvalidOverrideCode', 'Invalid override code.');
  state.override = { code, until: now + HOUR };
  return success;
};

/** Consumers have no policy that would permit it: refused there (2026.7.1377). */
export const allowLocalNetwork: Operation = ({ state, now }) => {
  if (!state.policy?.localNetwork) return notAuthorized;
  state.localNetworkUntil = now + HOUR;
  return success;
};
export const stopLocalNetwork: Operation = ({ state }) => {
  state.localNetworkUntil = null;
  return success;
};
export const showLocalNetwork: Operation = ({ state, now }) => {
  const seconds = Math.max(Math.ceil(((state.localNetworkUntil ?? 0) - now) / 1000), 0);
  const text = seconds > 0 ? `Access to local network ends in ${seconds}s\n` : 'No current access to local network\n';
  return say(text, { allowed: seconds > 0, ends_in_secs: seconds });
};
