// Describes the rows of a rule's form that choose its networks, and builds rows for the whole form.
import type { NetworkLink, NetworkMatch } from '../../../api/networks.ts';
import { matchOf, type RuleDraft, type RuleEditor } from '../../client/rule-editor.ts';
import { type Row, workCommand } from '../../form.ts';
import { matchText, networkTitle, securityText } from '../../states/networks.ts';
import { fill, type Translator } from '../../translator.ts';
import { beaconIn, checks } from '../validate.ts';

/** Value of the option to name a Wi-Fi network. */
const BY_NAME = 'by-name';
const SECURITIES = ['open', 'wep', 'psk', 'enterprise'] as const;
const KINDS = ['unknown-wifi', 'ethernet', 'no-rule'] as const;

/** True for a mark, which narrows a rule's Wi-Fi name or kind of network. A UUID is a mark only in addition to these. */
function isMark(key: string, { ssid, any }: NetworkMatch): boolean {
  return ['gateway', 'bssid', 'beacon'].includes(key) || (key === 'uuid' && (ssid ?? any) !== undefined);
}

function partOf(match: NetworkMatch, belongs: (key: string) => boolean): NetworkMatch {
  return Object.fromEntries(Object.entries(match).filter(([key]) => belongs(key)));
}

const marksOf = (match: NetworkMatch) => partOf(match, key => isMark(key, match));
const without = (match: NetworkMatch, left: keyof NetworkMatch) => partOf(match, key => key !== left);

/** Returns the rows that choose the networks by name or by kind. */
export function matchRows(editor: RuleEditor, draft: RuleDraft, links: readonly NetworkLink[], tr: Translator): Row[] {
  const { _ } = tr;
  const { match } = draft;
  const base = partOf(match, key => !isMark(key, match));
  // the password of a Wi-Fi network without a name has a separate row
  const chosen = base.ssid === undefined ? without(base, 'security') : base;
  const offered = [
    ...links.flatMap(link => {
      if (link.kind !== 'wifi' && link.uuid === null) return [];
      if (link.kind === 'wifi' && link.name === null) return [];
      return [matchOf(link)];
    }),
    ...KINDS.map((any): NetworkMatch => ({ any })),
  ];
  const isOffered = offered.some(each => textOf(each) === textOf(chosen));
  const byName = base.ssid !== undefined && base.any === undefined;
  const isOther = !isOffered && !byName && Object.keys(chosen).length > 0;
  const marks = marksOf(match);
  const choices: Choice<NetworkMatch>[] = [
    { value: textOf({}), label: textOf(marks) === '{}' ? _('Choose') : titleOf(marks, tr), gives: {} },
    ...(isOther ? [{ value: textOf(chosen), label: titleOf(chosen, tr), gives: base }] : []),
    ...offered.map(each => ({ value: textOf(each), label: labelOf(each, links, tr), gives: each })),
    { value: BY_NAME, label: _('A Wi-Fi network by its name'), gives: { ssid: '' } },
  ];
  const isNamed = byName && !isOffered;
  return [
    select({ id: 'draft-network', title: _('Network'), choices, value: isNamed ? BY_NAME : textOf(chosen) }, gives => {
      const name = draft.name === '' ? nameOf(gives, links) : draft.name;
      return editor.change({ match: { ...marks, ...gives }, name });
    }),
    ...(isNamed ? [ssidRow(editor, draft, tr)] : []),
    ...(hasPassword(base) ? [securityRow(editor, match, tr)] : []),
  ];
}

/** False for a match by connection or for Ethernet, unless it has a security. */
function hasPassword({ any, uuid, security }: NetworkMatch): boolean {
  return security !== undefined || (any !== 'ethernet' && uuid === undefined);
}

function ssidRow(editor: RuleEditor, { name, match }: RuleDraft, tr: Translator): Row {
  const { _ } = tr;
  const { ssid = '' } = match;
  return draftRow(
    editor,
    {
      id: 'draft-ssid',
      // Translators: %s is the name of a Wi-Fi network
      title: ssid === '' ? _('Name of the Wi-Fi network') : fill(_('Name of the Wi-Fi network: %s'), ssid),
    },
    text => editor.change({ match: { ...match, ssid: text }, name: name === '' ? text : name }),
    tr,
  );
}

function securityRow(editor: RuleEditor, match: NetworkMatch, tr: Translator): Row {
  const { _ } = tr;
  const others = without(match, 'security');
  const choices: Choice<NetworkMatch>[] = [
    { value: NONE, label: _('With or without a password'), gives: others },
    ...SECURITIES.map(security => ({
      value: security,
      label: capital(securityText(security, tr)),
      gives: { ...others, security },
    })),
  ];
  return select({ id: 'draft-security', title: _('Password'), choices, value: match.security ?? NONE }, gives =>
    editor.change({ match: gives }),
  );
}

/** Returns rows for the rule's marks, for the present networks' marks, and for marks to type. */
export function markRows(
  editor: RuleEditor,
  { match }: RuleDraft,
  links: readonly NetworkLink[],
  tr: Translator,
): Row[] {
  const { _ } = tr;
  const change = (next: NetworkMatch) => editor.change({ match: next });
  const add = (mark: NetworkMatch) => change(withMark(match, mark));
  const entry = (words: Parameters<typeof textRow>[0], markIn: (text: string) => NetworkMatch): Row =>
    draftRow(editor, { label: _('Add'), ...words }, async text => add(markIn(text)), tr);
  const { hardware: check, beacon } = checks(tr);
  return [
    ...listed(match).map(
      (mark): Row => ({
        kind: 'item',
        id: `draft-mark-${textOf(mark)}`,
        title: titleOf(mark, tr),
        remove: workCommand(() => change(withoutMark(match, mark))),
        removeLabel: fill(_('Remove %s'), titleOf(mark, tr)),
      }),
    ),
    ...links.flatMap(link =>
      marksHere(link, match).map(
        (mark): Row => ({
          kind: 'button',
          id: `draft-present-${textOf(mark)}`,
          title: titleOf(mark, tr),
          subtitle: networkTitle(link, tr),
          label: _('Add'),
          command: workCommand(() => add(mark)),
        }),
      ),
    ),
    entry({ id: 'draft-gateway', title: _('Gateway, by its hardware address'), check }, text => ({
      gateway: text.toLowerCase(),
    })),
    entry({ id: 'draft-bssid', title: _('Access point, by its hardware address'), check }, text => ({
      bssid: [text.toLowerCase()],
    })),
    entry({ id: 'draft-uuid', title: _('Connection of NetworkManager, by its UUID') }, uuid => ({ uuid })),
    entry(
      { id: 'draft-beacon', title: _('Beacon, by its address and the SHA-256 of its certificate'), check: beacon },
      text => ({ beacon: beaconIn(text)! }),
    ),
  ];
}

/** Splits the marks of a rule into single marks. */
function listed(match: NetworkMatch): NetworkMatch[] {
  const marks = marksOf(match);
  return Object.keys(marks).flatMap(key =>
    key === 'bssid' ? marks.bssid!.map(each => ({ bssid: [each] })) : [partOf(marks, each => each === key)],
  );
}

/** Returns the marks of a network that the rule lacks. */
function marksHere({ uuid, gatewayHardware, bssid }: NetworkLink, match: NetworkMatch): NetworkMatch[] {
  return [
    ...(gatewayHardware !== null && gatewayHardware !== match.gateway ? [{ gateway: gatewayHardware }] : []),
    ...(bssid !== null && !match.bssid?.includes(bssid) ? [{ bssid: [bssid] }] : []),
    ...(uuid !== null && uuid !== match.uuid ? [{ uuid }] : []),
  ];
}

/** Adds a mark. It replaces a mark of the same kind, except that a rule can have several access points. */
function withMark(match: NetworkMatch, mark: NetworkMatch): NetworkMatch {
  const bssid = [...new Set([...(match.bssid ?? []), ...(mark.bssid ?? [])])];
  return { ...match, ...mark, ...(bssid.length > 0 ? { bssid } : {}) };
}

function withoutMark(match: NetworkMatch, mark: NetworkMatch): NetworkMatch {
  const bssid = match.bssid?.filter(each => !mark.bssid?.includes(each)) ?? [];
  return { ...partOf(match, key => !(key in mark)), ...(bssid.length > 0 ? { bssid } : {}) };
}

function labelOf(match: NetworkMatch, links: readonly NetworkLink[], tr: Translator): string {
  const link = links.find(each => match.any === undefined && textOf(matchOf(each)) === textOf(match));
  return link ? networkTitle(link, tr) : titleOf(match, tr);
}

function nameOf({ any, uuid }: NetworkMatch, links: readonly NetworkLink[]): string {
  return any ?? links.find(each => each.uuid === uuid)?.name ?? '';
}

const titleOf = (match: NetworkMatch, tr: Translator) => capital(matchText({ match }, tr));

/** Value of the option that makes no choice. */
export const NONE = '';

export interface Choice<T> {
  value: string;
  label: string;
  gives: T;
}

export function select<T>(
  { id, title, choices, value }: { id: string; title: string; choices: readonly Choice<T>[]; value: string },
  chosen: (gives: T) => Promise<unknown>,
): Row {
  return {
    kind: 'select',
    id,
    title,
    value,
    options: choices.map(({ value: each, label }) => ({ value: each, label })),
    command: name => workCommand(async () => chosen(choices.find(each => each.value === name)!.gives)),
  };
}

/** Returns a row to type a text; without a check in `words`, the text is checked as a name. */
export function textRow(
  words: Pick<Extract<Row, { kind: 'entry' }>, 'id' | 'title'> &
    Partial<Pick<Extract<Row, { kind: 'entry' }>, 'label' | 'check' | 'type'>>,
  given: (text: string) => Promise<unknown>,
  tr: Translator,
): Row {
  return {
    kind: 'entry',
    label: tr._('Set'),
    check: checks(tr).name,
    ...words,
    command: text => workCommand(() => given(text)),
  };
}

/** Returns a field for a text of the draft. The editor keeps what is typed, so that Save takes it too. */
export function draftRow(
  editor: RuleEditor,
  words: Parameters<typeof textRow>[0],
  given: (text: string) => Promise<unknown>,
  tr: Translator,
): Row {
  const type = (text: string) => editor.type(words.id, text.trim());
  const take = (text: string) => {
    type('');
    return given(text);
  };
  return textRow({ type, ...words }, take, tr);
}

/** Returns a text that identifies a value among choices. */
export const textOf = (value: unknown): string => JSON.stringify(value);

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
