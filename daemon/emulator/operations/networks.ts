// vnet and trusted …: the networks that the client is in, or steps back for.
import { notAuthorized, type Operation, refuse, say } from '../answer.ts';
import { change } from './connection.ts';

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
  const blocks = vnets.map(
    each =>
      `  ID: ${each.id}\n  Name: ${each.name}\n${each.description ? `  Description: ${each.description}\n` : ''}  Default: ${each.default}\n`,
  );
  return say(`Currently selected: ${active ?? 'None'}\n${blocks.join('\n')}`, {
    active_vnet_id: active,
    virtual_networks: vnets,
  });
};

export const listSsids: Operation = ({ state }) =>
  say(`Trusted SSIDs:\n${state.settings.ssids.map(ssid => `  ${ssid}\n`).join('')}`, state.settings.ssids);
export const addSsid: Operation = (context, [ssid = '']) => {
  if (context.state.policy) return notAuthorized;
  const { ssids } = context.state.settings;
  if (ssids.includes(ssid)) return refuse('AlreadyExists', `${ssid} already exists.`);
  return change(context, settings => {
    settings.ssids = [...ssids, ssid];
  });
};
export const removeSsid: Operation = (context, [ssid = '']) => {
  if (context.state.policy) return notAuthorized;
  const { ssids } = context.state.settings;
  if (!ssids.includes(ssid)) return refuse('NotFound', `${ssid} was not found.`);
  return change(context, settings => {
    settings.ssids = ssids.filter(each => each !== ssid);
  });
};
