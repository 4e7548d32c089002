// Describes the networks page: the present network, the list of networks with their rules, and access to the local network.
import type { ClientState } from '../../client/client-state.ts';
import type { RuleEditor } from '../../client/rule-editor.ts';
import { actionCommand, type Form, type Row, type Search } from '../../form.ts';
import { timeOfDay } from '../../format.ts';
import type { CurrentNetwork } from '../../host.ts';
import { fill, type Translator } from '../../translator.ts';
import { hereRows, hereStatus } from './network-here.ts';
import { elsewhereGroup } from './network-rules.ts';
import { draftGroups, whatIfGroup } from './rule-editor.ts';

/** Facts that the page shows in addition to the state. */
export interface NetworksFacts {
  settable: boolean;
  /** null if the desktop does not report it. */
  network: CurrentNetwork | null;
  /** In ms since the epoch. */
  now: number;
  /** Edits the rules; absent if the client can't edit rules. */
  editor?: RuleEditor;
  /** Searches the list; absent for a short list. */
  search?: Search;
}

export function networksForm(
  client: ClientState,
  { settable, network, now, editor, search }: NetworksFacts,
  tr: Translator,
): Form {
  const { snapshot } = client;
  const options = snapshot?.options ?? null;
  const networks = snapshot?.networks;
  const here = { networks, network, snapshot, settable, editor: editor ?? null };
  const draft = networks && editor ? draftGroups(editor, networks, tr) : [];
  const form: Form = {
    status: hereStatus(here, tr),
    groups: [{ id: 'here', rows: hereRows(here, tr) }],
    ...(search && { search }),
  };
  // the form of a rule and the test take the place of the list
  if (draft.length > 0) form.groups.push(...draft);
  else if (networks && editor?.state().testing) form.groups.push(whatIfGroup(editor, networks, options, tr));
  else {
    const list = { networks, options, settable, editor: editor ?? null, query: search?.text.trim() ?? '' };
    form.groups.push(elsewhereGroup(list, tr), {
      id: 'local',
      description: options?.localNetwork ?? undefined,
      rows: [localRow(client, settable, now, tr)],
    });
  }
  return form;
}

/** Returns a switch if WARP reports the access, or else a button; without an organization, a link to the routes. */
function localRow({ snapshot }: ClientState, settable: boolean, now: number, tr: Translator): Row {
  const { _ } = tr;
  const title = _('Reach printers and devices nearby');
  if (!snapshot?.account.organization)
    return {
      kind: 'link',
      id: 'local',
      title,
      subtitle: _('Networks that bypass WARP can be reached.'),
      page: 'routes',
    };
  const access = snapshot.options.localNetworkAccess;
  if (!access)
    return {
      kind: 'button',
      id: 'local',
      title,
      subtitle: _('WARP doesn’t report whether this is on. It ends automatically.'),
      label: _('Allow'),
      sensitive: settable,
      command: actionCommand({ action: 'allowLocalNetwork' }, { done: _('The local network can be reached') }),
    };
  const { endsAt } = access;
  const on = access.allowed && (endsAt === null || Date.parse(endsAt) > now);
  // Translators: %s is a time of day
  const until = endsAt === null ? _('Ends automatically') : fill(_('On until %s'), timeOfDay(endsAt, false));
  return {
    kind: 'switch',
    id: 'local',
    title,
    subtitle: on ? until : _('For a limited time'),
    on,
    sensitive: settable,
    command: actionCommand({ action: on ? 'stopLocalNetwork' : 'allowLocalNetwork' }),
  };
}
