// Implements the account: registration, sign-in to an organization, license, keys, and exceptions from a policy.
import {
  type Context,
  missingRegistration,
  notAuthorized,
  type Operation,
  refuse,
  sayJson,
  sayText,
  success,
} from './answer.ts';
import { initialRegistration, organizationPolicy } from './state.ts';
import { change } from './tunnel.ts';

export const show: Operation = ({ state }) => {
  const it = state.registration;
  if (it === null) return missingRegistration;
  return sayJson({
    id: it.id,
    device_id: it.deviceId,
    public_key: it.publicKey,
    managed: it.organization !== null,
    account: {
      type: it.accountType,
      id: it.accountId,
      ...(it.license !== null && { license: it.license }),
      ...(it.organization !== null && { organization: it.organization }),
    },
    alternate_networks: [],
  });
};

export const create: Operation = (context, [organization]) => {
  const { state, now } = context;
  if (state.registration !== null) {
    return refuse('OldRegistration', 'Old registration is still around. Try running: "warp-cli registration delete"');
  }
  if (organization === undefined) {
    forget(context);
    state.registration = initialRegistration((state.seed ^ now) >>> 0);
    return success;
  }
  state.enrolling = organization;
  return sayText(
    `A browser window should open at the following URL:\n\nhttps://${organization}.cloudflareaccess.com/warp\n\n` +
      'If the browser fails to open, please visit the URL above directly in your browser.\n\n',
  );
};

/** Accepts the link that the browser returns: `com.cloudflare.warp://TEAM.cloudflareaccess.com/auth?token=JWT`. */
export const token: Operation = (context, [url = '']) => {
  const { state, now } = context;
  const [, team, jwt] =
    url.match(/^com\.cloudflare\.warp:\/\/([^./]+)\.cloudflareaccess\.com\/auth\?token=(.*)$/) ?? [];
  const wellFormed = /^[\w-]{4,}\.[\w-]{4,}\.[\w-]{4,}$/.test(jwt ?? '');
  if (!team || !wellFormed || state.enrolling !== team) {
    // The prefix contains the status of the API call, unlike "Error: …".
    return { ...refuse('Unauthorized', 'Unauthorized'), prefix: 'Error(401)' };
  }
  forget(context);
  state.registration = {
    ...initialRegistration((state.seed ^ now) >>> 0),
    accountType: 'team',
    license: null,
    organization: team,
  };
  state.policy = organizationPolicy(state.seed);
  return success;
};

export const remove: Operation = context => {
  const { state } = context;
  if (state.registration === null) return missingRegistration;
  if (state.policy && !state.policy.allowLeave) return notAuthorized;
  forget(context);
  state.missing = 'ManualDeletion';
  return success;
};

function forget({ state }: Context): void {
  Object.assign(state, { registration: null, connection: null, policy: null, enrolling: null, change: null });
  state.settings.alwaysOn = false;
}

/** Lists the devices. No answer was recorded; the keys are known from parsers. */
export const devices: Operation = ({ state }) => {
  if (state.registration === null) return missingRegistration;
  const own = { device_id: state.registration.deviceId, name: 'culvert-demo', model: 'PC', active: true };
  return sayJson([own, ...state.otherDevices]);
};

export const license: Operation = ({ state }, [key = '']) => {
  if (state.registration === null) return missingRegistration;
  if (state.registration.accountType === 'team') return notAuthorized;
  if (!/^[A-Za-z0-9]{8}-[A-Za-z0-9]{8}-[A-Za-z0-9]{8}$/.test(key)) {
    return refuse('InvalidLicense', 'Invalid license key.');
  }
  state.registration.license = key;
  state.registration.accountType = 'unlimited';
  return success;
};

export const rotateKeys: Operation = ({ state, now }) => {
  if (state.registration === null) return missingRegistration;
  state.registration.publicKey = initialRegistration(state.seed ^ now).publicKey;
  return success;
};

const HOUR = 3_600_000;

export const unlock: Operation = ({ state, now }, [code = '']) => {
  if (!/^[A-Za-z0-9-]{4,}$/.test(code)) return refuse('InvalidOverrideCode', 'Invalid override code.');
  state.override = { code, until: now + HOUR };
  return success;
};

/** Allows the local network for an hour; refused for consumers because they have no policy (2026.7.1377). */
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
  return sayJson({ allowed: seconds > 0, ends_in_secs: seconds });
};

export const vnet: Operation = (context, [id]) => {
  const { vnets, settings } = context.state;
  const active = settings.activeVnet ?? vnets.find(each => each.default)?.id ?? null;
  if (id !== undefined) {
    if (!vnets.some(each => each.id === id))
      return refuse('UnknownVirtualNetwork', `Virtual network ${id} does not exist.`);
    return change(context, each => {
      each.activeVnet = id;
    });
  }
  return sayJson({ active_vnet_id: active, virtual_networks: vnets });
};
