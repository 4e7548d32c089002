// Commands that only report: settings, targets, networks, and what a demo has nothing of.
import { type Operation, say } from '../answer.ts';
import { effectiveProtocol } from '../client/connection.ts';
import { settingsJson, settingsText } from '../render/settings.ts';
import { targetTable } from '../render/targets.ts';
import { statsAt } from './stats.ts';

export const settings: Operation = context => say(settingsText(context), settingsJson(context));
export const modeSwitchAllowed: Operation = ({ state }) => {
  const allowed = state.policy?.allowModeSwitch ?? true;
  return say(`${allowed}\n`, allowed);
};
export const supportUrl: Operation = ({ state }) =>
  say(`${state.policy?.supportUrl ?? ''}\n`, state.policy?.supportUrl ?? '');

export const targets: Operation = ({ state }) => say(targetTable(state.targets), state.targets);
export const certs: Operation = () => say('', []);
export const mdmConfigs: Operation = () => say('No MDM configurations found\n', []);
export const alternateNetwork: Operation = () => say('');
export const posture: Operation = () => say('[]\n', []);
export const dex: Operation = () => say('[]\n', []);

/** One line of JSON in either form (2023.7). */
export const network: Operation = ({ state }) => say(`${JSON.stringify(state.network)}\n`, state.network);

/** The real layout is unrecorded. */
export const clientStats: Operation = context => {
  const figures = statsAt(context, effectiveProtocol(context.state, context.generation));
  const all = { bytes_sent: figures?.sent ?? 0, bytes_received: figures?.received ?? 0 };
  return say(`Bytes sent: ${all.bytes_sent}\nBytes received: ${all.bytes_received}\n`, all);
};
