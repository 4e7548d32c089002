// registration …: the account, the browser enrollment of an organization, licenses and tokens.
import { type Context, missingRegistration, notAuthorized, type Operation, refuse, say, success } from '../answer.ts';
import { initialRegistration, initialSettings, organizationPolicy } from '../client/initial-state.ts';
import { change } from './connection.ts';

export const show: Operation = ({ state }) => {
  const it = state.registration;
  if (it === null) return missingRegistration;
  const lines = [
    ['Account type', it.accountType[0]!.toUpperCase() + it.accountType.slice(1)],
    ['ID', it.id],
    ['Device ID', it.deviceId],
    ['Public key', it.publicKey],
    ['Account ID', it.accountId],
    it.license !== null && ['License', it.license],
    it.organization !== null && ['Organization', it.organization],
  ].filter(line => line !== false);
  return say(lines.map(([key, value]) => `${key}: ${value}\n`).join(''), {
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
  return say(
    `A browser window should open at the following URL:\n\nhttps://${organization}.cloudflareaccess.com/warp\n\n` +
      'If the browser fails to open, please visit the URL above directly in your browser.\n\n',
  );
};

/** The link that the browser hands back: `com.cloudflare.warp://TEAM.cloudflareaccess.com/auth?token=JWT`. */
export const token: Operation = (context, [url = '']) => {
  const { state, now } = context;
  const [, team, jwt] =
    url.match(/^com\.cloudflare\.warp:\/\/([^./]+)\.cloudflareaccess\.com\/auth\?token=(.*)$/) ?? [];
  const wellFormed = /^[\w-]{4,}\.[\w-]{4,}\.[\w-]{4,}$/.test(jwt ?? '');
  if (!team || !wellFormed || state.enrolling !== team) {
    // Not "Error: …": the word holds the status of the API call.
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

/** Without an organization there is no name to print. */
export const organization: Operation = ({ state }) => {
  if (state.registration === null) return missingRegistration;
  return say(state.registration.organization ? `${state.registration.organization}\n` : '');
};

/** Keys of the JSON form are those that parsers read; of the text form nothing was recorded. */
export const devices: Operation = ({ state }) => {
  if (state.registration === null) return missingRegistration;
  const own = { device_id: state.registration.deviceId, name: 'culvert-demo', model: 'PC', active: true };
  const all = [own, ...state.otherDevices];
  const text = all.map(
    each => `ID: ${each.device_id}\n  Name: ${each.name}\n  Model: ${each.model}\n  Active: ${each.active}\n`,
  );
  return say(text.join(''), all);
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

export const resetSettings: Operation = context =>
  change(context, settings => {
    Object.assign(settings, initialSettings(), { alwaysOn: settings.alwaysOn });
  });
