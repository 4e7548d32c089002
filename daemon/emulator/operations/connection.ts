// connect, disconnect and the settings that make the client reconnect.
import { type Context, missingRegistration, notAuthorized, type Operation, refuse, say, success } from '../answer.ts';
import { beginConnection, effectiveMode, effectiveProtocol, statusAt } from '../client/connection.ts';
import type { Settings, State, Summary } from '../client/state.ts';
import { MODE_NAMES } from '../render/settings.ts';
import { statusJson, statusText } from '../render/status.ts';

export const status: Operation = ({ state, now, faults, generation }) => {
  const current = statusAt(state, now, faults).status;
  return say(statusText(current, generation), statusJson(current, generation));
};

export const connect: Operation = context => {
  const { state, now, generation } = context;
  if (state.registration === null) return missingRegistration;
  change(context, settings => {
    settings.alwaysOn = true;
  });
  if (state.connection === null) beginConnection(state, now, generation);
  return success;
};

export const disconnect: Operation = context => {
  const { state } = context;
  if (state.registration === null) return missingRegistration;
  if (state.policy?.switchLocked && (state.override?.until ?? 0) <= context.now) return notAuthorized;
  change(context, settings => {
    settings.alwaysOn = false;
  });
  state.connection = null;
  return success;
};

export const mode: Operation = (context, [name = '']) => {
  const { state } = context;
  if (state.policy && !state.policy.allowModeSwitch) return notAuthorized;
  if (name === 'proxy' && proxyRefused(context)) return proxyNeedsMasque;
  if (state.policy) state.policy.mode = null;
  return change(context, settings => {
    settings.mode = name;
  });
};

export const setProtocol: Operation = (context, [name]) => {
  if (context.state.policy) return notAuthorized;
  if (name === 'WireGuard' && effectiveMode(context.state) === 'proxy' && context.generation.has('masqueOnlyProxy')) {
    return proxyNeedsMasque;
  }
  return change(context, settings => {
    settings.protocol = name as Settings['protocol'];
  });
};

export const resetProtocol: Operation = context =>
  context.state.policy
    ? notAuthorized
    : change(context, settings => {
        settings.protocol = null;
      });

/**
 * Changes settings. A connection starts over when its route changed; without one, the status names the change (`SettingsChanged`).
 */
export function change(context: Context, alter: (settings: Settings) => void): typeof success {
  const { state, now, generation } = context;
  const [before, route] = [summary(state), routeOf(context)];
  alter(state.settings);
  const after = summary(state);
  if (state.connection !== null && route !== routeOf(context)) beginConnection(state, now, generation);
  if (JSON.stringify(before) !== JSON.stringify(after)) state.change = { current: after, previous: before };
  return success;
}

function routeOf({ state, generation }: Context): string {
  const { endpoint, masque, mtu, environment, activeVnet } = state.settings;
  return JSON.stringify([
    effectiveMode(state),
    effectiveProtocol(state, generation),
    endpoint,
    masque,
    mtu,
    environment,
    activeVnet,
  ]);
}

function summary(state: State): Summary {
  return {
    always_on: state.settings.alwaysOn,
    switch_locked: state.policy?.switchLocked ?? false,
    auto_connect: null,
    operation_mode: MODE_NAMES[effectiveMode(state)] ?? effectiveMode(state),
  };
}

/** Proxy mode carries TCP over MASQUE since 2025.8.779; the words of the refusal are not recorded. */
function proxyRefused({ state, generation }: Context): boolean {
  return generation.has('masqueOnlyProxy') && effectiveProtocol(state, generation) === 'WireGuard';
}
const proxyNeedsMasque = refuse('ProxyModeRequiresMasque', 'Proxy mode requires the MASQUE tunnel protocol.');
