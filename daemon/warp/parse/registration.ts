// Parses the registration of this device: the account, and the devices that share it.
import type { Account, Device } from '../../api/schema.ts';
import { maskLicense } from '../../state/redact.ts';
import { isObject, type Json, jsonOf, linesOf, stringOf } from './output.ts';

export type RegistrationReading = Omit<Account, 'ok' | 'devices'>;

/** The account of a device that is not registered. */
export const UNREGISTERED: RegistrationReading = {
  registered: false,
  type: null,
  organization: null,
  deviceId: null,
  accountId: null,
  license: null,
  managed: null,
};

/** The answer of `registration show`, or null for anything else. The license is masked. */
export function parseRegistration(text: string): RegistrationReading | null {
  const value = jsonOf(text);
  if (isObject(value)) return parseObject(value);
  const facts = factsOf(linesOf(text));
  const type = facts.get('account type');
  if (!type && !facts.has('account id')) return null;
  const license = facts.get('license');
  const organization = facts.get('organization') ?? null;
  return {
    registered: true,
    type: type ?? null,
    organization,
    deviceId: facts.get('device id') ?? facts.get('id') ?? null,
    accountId: facts.get('account id') ?? null,
    license: license ? maskLicense(license) : null,
    // Text does not say it; only a team manages devices.
    managed: type ? /^teams?$/i.test(type) : null,
  };
}

/** The answer of `registration devices`; empty for anything else. */
export function parseDevices(text: string): Device[] {
  const value = jsonOf(text);
  if (value !== undefined) {
    const list = Array.isArray(value) ? value : isObject(value) ? value.devices : undefined;
    return (Array.isArray(list) ? list : []).flatMap(item => (isObject(item) ? deviceOf(item) : []));
  }
  const blocks: string[][] = [];
  for (const line of linesOf(text)) {
    if (/^\s*(device )?id:/i.test(line) || blocks.length === 0) blocks.push([]);
    blocks.at(-1)?.push(line);
  }
  return blocks.flatMap(block => {
    const facts = factsOf(block);
    const deviceId = facts.get('device id') ?? facts.get('id');
    const active = facts.get('active');
    return deviceId
      ? {
          deviceId,
          name: facts.get('name') ?? null,
          model: facts.get('model') ?? null,
          os: facts.get('os') ?? facts.get('type') ?? null,
          active: active === undefined ? null : /^(true|yes)$/i.test(active),
        }
      : [];
  });
}

function parseObject(value: Json): RegistrationReading | null {
  const account = isObject(value.account) ? value.account : {};
  if (!('device_id' in value) && !('account' in value)) return null;
  const license = stringOf(account.license);
  const type = stringOf(account.type);
  return {
    registered: true,
    // The text form writes `Free`, JSON `free`; one shape for both.
    type: type && type.charAt(0).toUpperCase() + type.slice(1),
    organization: stringOf(account.organization) ?? stringOf(value.organization),
    deviceId: stringOf(value.device_id) ?? stringOf(value.id),
    accountId: stringOf(account.id),
    license: license ? maskLicense(license) : null,
    managed: typeof value.managed === 'boolean' ? value.managed : null,
  };
}

function deviceOf(item: Json): Device | [] {
  const deviceId = stringOf(item.device_id) ?? stringOf(item.id);
  if (!deviceId) return [];
  return {
    deviceId,
    name: stringOf(item.name),
    model: stringOf(item.model),
    os: stringOf(item.os) ?? stringOf(item.type),
    active: typeof item.active === 'boolean' ? item.active : null,
  };
}

function factsOf(lines: string[]): Map<string, string> {
  const pairs = lines.flatMap(line => {
    const match = /^([^:]+):\s+(\S.*)$/.exec(line.trim());
    return match ? [[match[1]!.toLowerCase(), match[2]!.trim()] as const] : [];
  });
  return new Map(pairs);
}
