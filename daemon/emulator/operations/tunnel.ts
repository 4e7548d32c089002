// tunnel …: statistics, split tunnel lists, keys, endpoint and protocol options.
import { type Context, missingRegistration, notAuthorized, type Operation, refuse, say, success } from '../answer.ts';
import { effectiveProtocol } from '../client/connection.ts';
import { initialRegistration } from '../client/initial-state.ts';
import type { Route, Settings } from '../client/state.ts';
import { described, routesOf } from '../render/settings.ts';
import { statsJson, statsText } from '../render/stats.ts';
import { change } from './connection.ts';
import { statsAt } from './stats.ts';

export const stats: Operation = context => {
  const { state, generation } = context;
  const protocol = effectiveProtocol(state, generation);
  const figures = statsAt(context, protocol);
  if (figures === null) return refuse('WarpNotConnected', 'WARP is not connected.');
  return say(statsText(figures, protocol, context), statsJson(figures, protocol, context));
};

/** The layout is known only for the heading `Excluded:` and the routes below it. */
export const dump: Operation = context => {
  const { settings } = context.state;
  const routes = [...routesOf(context), ...settings.hosts];
  const excluded =
    settings.splitMode === 'exclude'
      ? routes
      : [
          { value: '0.0.0.0/0', description: '' },
          { value: '::/0', description: '' },
        ];
  const included = settings.splitMode === 'exclude' ? ['0.0.0.0/0', '::/0'] : routes.map(route => route.value);
  const block = (heading: string, values: string[]) => `${heading}:\n${values.map(value => `  ${value}\n`).join('')}`;
  const values = excluded.map(route => route.value);
  return say(`${block('Excluded', values)}\n${block('Included', included)}`, { excluded: values, included });
};

export const listIps: Operation = context => {
  const { splitMode } = context.state.settings;
  return listing(`${splitMode === 'exclude' ? 'Excluded' : 'Included'} routes`, 'split_tunnel_ips', routesOf(context));
};
export const listHosts: Operation = ({ state }) =>
  listing(
    `${state.settings.splitMode === 'exclude' ? 'Excluded' : 'Included'} hosts`,
    'split_tunnel_hosts',
    state.settings.hosts,
  );

function listing(heading: string, key: string, routes: Route[]) {
  return say(`${heading}:\n${routes.map(route => `  ${described(route)}\n`).join('')}`, { [key]: routes });
}

type List = 'ips' | 'hosts';
const current = (context: Context, list: List): Route[] =>
  list === 'ips' ? routesOf(context) : context.state.settings.hosts;

const add =
  (list: List, normalize = (value: string) => value): Operation =>
  (context, [text = '']) => {
    const value = normalize(text);
    const routes = current(context, list);
    if (context.state.policy) return notAuthorized;
    if (routes.some(route => route.value === value)) return refuse('AlreadyExists', `${value} already exists.`);
    const description = context.state.settings.splitMode === 'exclude' ? 'CLI exclude' : 'CLI include';
    return change(context, settings => {
      settings[list] = [...routes, { value, description }];
    });
  };

const remove =
  (list: List, normalize = (value: string) => value): Operation =>
  (context, [text = '']) => {
    const value = normalize(text);
    const routes = current(context, list);
    if (context.state.policy) return notAuthorized;
    if (!routes.some(route => route.value === value)) return refuse('NotFound', `${value} was not found.`);
    return change(context, settings => {
      settings[list] = routes.filter(route => route.value !== value);
    });
  };

/** An address is kept as the range that holds it alone. */
const single = (address: string) =>
  address.includes('/') ? address : `${address}/${address.includes(':') ? 128 : 32}`;
export const addIp = add('ips', single);
export const removeIp = remove('ips', single);
export const addRange = add('ips');
export const removeRange = remove('ips');
export const addHost = add('hosts');
export const removeHost = remove('hosts');

export const resetIps: Operation = context => {
  if (context.state.policy) return notAuthorized;
  return change(context, settings => {
    settings.ips = null;
  });
};
export const resetHosts: Operation = context => {
  if (context.state.policy) return notAuthorized;
  return change(context, settings => {
    settings.hosts = [];
  });
};

export const rotateKeys: Operation = ({ state, now }) => {
  if (state.registration === null) return missingRegistration;
  state.registration.publicKey = initialRegistration(state.seed ^ now).publicKey;
  return success;
};

/** An operation that sets one setting; organizations decide about it themselves when `ruled`. */
export const setting =
  (alter: (settings: Settings, value: string) => void, ruled = true): Operation =>
  (context, [value = '']) => {
    if (ruled && context.state.policy) return notAuthorized;
    return change(context, settings => alter(settings, value));
  };
