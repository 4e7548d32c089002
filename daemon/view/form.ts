// Defines a page as data: groups of rows with their texts and requests. The panel and the web page render the same form.
import type { ToolAccountsChange } from '../api/accounts.ts';
import type { ChangeOptions, Subject } from '../api/changes.ts';
import type { DoctorFixRequest } from '../api/doctor.ts';
import type { NetworksAnswer } from '../api/networks.ts';
import type { ActionRequest, ConfigPatch, KillSwitchPause, KillSwitchRequest } from '../api/schema.ts';
import type { Chart, Charts, Strip, Table } from './graph.ts';
import type { PageName } from './page-list.ts';

/** Tasks that only the client itself can do: start a service through polkit, open a dialog, save a file. */
export type ClientTask =
  | 'start-daemon'
  | 'try-again'
  | 'start-service'
  | 'restart-service'
  | 'install-killswitch'
  | 'handle-sign-in'
  | 'network-settings'
  | 'check-update'
  | 'apply-update'
  | 'roll-back'
  | 'update-command'
  | 'run-checks'
  | 'report'
  | 'export-settings'
  | 'apply-settings'
  | 'undo-settings'
  | 'shortcuts'
  | 'portal'
  | 'portal-by-hand';

/** A request in the form of data. */
export type Ask =
  | { kind: 'action'; request: ActionRequest & ChangeOptions }
  | { kind: 'kill-switch'; change: KillSwitchRequest | KillSwitchPause }
  | { kind: 'config'; patch: ConfigPatch }
  | { kind: 'open'; uri: string }
  | { kind: 'page'; page: PageName }
  | { kind: 'copy'; text: string }
  /** Sends one request through the tunnel to show its exit. */
  | { kind: 'proof' }
  /** Applies a fix of the doctor in the form that the user saw. */
  | { kind: 'fix'; request: DoctorFixRequest }
  /** Undoes the last fix. */
  | { kind: 'undo-fix' }
  /** Changes tool accounts. The answer to the command's question contains the `credentials`. */
  | { kind: 'tool-accounts'; change: ToolAccountsChange }
  /** Changes the rules for networks. */
  | { kind: 'networks'; change: NetworksChange }
  | ChangeAsk
  /** Restarts the daemon, as a demo or not. */
  | { kind: 'restart'; demo: boolean }
  | { kind: 'client'; task: ClientTask }
  /** Runs the command for the text that answers the `field` of the command's question; it gets the secrets as its own. */
  | { kind: 'answer'; command(text: string): Command }
  /** Work of the control's page. If it resolves with a text, clients show the text instead of `done`. */
  | { kind: 'work'; work(): Promise<unknown> }
  /** Changes what the page shows. */
  | { kind: 'show'; show(): void };

/** A change of the rules for networks. */
export type NetworksChange =
  | ({ do: 'answer' } & NetworksAnswer)
  | { do: 'revert' }
  /**
   * `lines`: the rule's table without the name; `allow`: the user's answer whether it may lower the protection; `replaces`: name of the rule to replace;
   * `before`: name of the rule that follows a new rule.
   */
  | {
      do: 'add';
      name: string;
      lines: readonly string[];
      allow?: boolean;
      replaces?: string | null;
      before?: string | null;
    }
  | { do: 'remove'; name: string };

/** Requests about changes that revert automatically. */
export type ChangeAsk =
  | { kind: 'change'; what: 'confirm' | 'revert'; subjects: readonly Subject[] }
  /** Acknowledges the report of lost changes. */
  | { kind: 'acknowledge' }
  /** Moves the end of a change from `endsAt` by a number of seconds. */
  | { kind: 'extend'; subject: Subject; endsAt: string; seconds: number };

/** Time to confirm a change that may cut a user off, in seconds. */
export const CONFIRM_SECONDS = 30;

export interface Question {
  heading: string;
  body: string;
  accept: string;
  destructive?: boolean;
  /** Links to texts that the user agrees to. */
  links?: { label: string; uri: string }[];
  /** The change as lines: a difference or commands. */
  text?: string;
  /** Names of secret values to type, after the `field`. */
  secrets?: string[];
  /** A text to type that is not secret. `check` returns the error of a text, or null. */
  field?: { label: string; placeholder: string; check(text: string): string | null };
}

/** The action behind a control. */
export interface Command {
  ask: Ask;
  /** A question to ask first. The command runs only if the user agrees. */
  confirm?: Question;
  /** The undo to offer after the command. */
  undo?: Ask;
  /** A message after the command, if its effect is not visible. */
  done?: string;
}

/** A command with the label of its control. */
export interface Button {
  label: string;
  command: Command;
}

export type Tone = 'success' | 'accent' | 'warning' | 'error' | 'neutral';

/** A mark before a row's title, which says the row's tone without color. */
export type Mark = 'fine' | 'active' | 'hint' | 'problem' | 'waiting' | 'off';

/** Returns the mark of a row. A tone that asks for attention has a mark, so that its color is not the only sign. */
export function markOf({ mark, tone }: Pick<Common, 'mark' | 'tone'>): Mark | null {
  return mark ?? (tone === 'warning' || tone === 'error' ? 'problem' : null);
}

/** A button of a menu, of a group's heading or of a page's status. */
export interface MenuButton extends Button {
  style?: 'suggested' | 'destructive';
  /** False if it can't be used. Default: true. */
  sensitive?: boolean;
  /** Why it can't be used, if the sentence of its status does not say so. */
  reason?: string | null;
  /** Name for assistive technology. Default: the label. */
  name?: string;
}

interface Common {
  /** Stable identifier, unique in the form. */
  id: string;
  title: string;
  subtitle?: string | null;
  /** Lines of the subtitle, from 0, that are English in every language of the interface. */
  englishLines?: readonly number[];
  /** False if the row can't be used. Default: true. */
  sensitive?: boolean;
  /** Why the row can't be used, if neither the subtitle nor the tunnel's state explains it. */
  reason?: string | null;
  tone?: Tone;
  mark?: Mark;
  /** Part that is left of a whole such as a quota, from 0 to 1. Clients draw it as a bar in the row's tone. */
  level?: number | null;
  /** Further commands of the row, behind its menu button. */
  menu?: MenuButton[];
  /** Label of the menu button. By default it has only an icon. */
  menuLabel?: string;
}

export type Row = Common &
  (
    | { kind: 'fact'; value: string; copy?: boolean }
    /**
     * `page`: the row itself, next to its switch, opens a page. `name` names the switch for assistive technology. Default:
     * the title.
     */
    | { kind: 'switch'; on: boolean; command: Command; page?: PageName; name?: string }
    /** One of a group's choices; `checked` marks the confirmed choice. */
    | { kind: 'radio'; checked: boolean; command: Command }
    /** Without a label, the row itself is the button. */
    | { kind: 'button'; label?: string; name?: string; style?: MenuButton['style']; command: Command; busy?: boolean }
    /**
     * Opens a page, at the row with the id `row` if given. `value` is the page's current setting. `task` first opens a
     * dialog that leads to the page.
     */
    | { kind: 'link'; value?: string; page: PageName; row?: string; task?: ClientTask }
    /** An entry of a list. `remove` deletes the entry, and `edit` opens it. */
    | { kind: 'item'; remove: Command | null; removeLabel: string; edit?: Button }
    /** A text field. `check` returns the error of a text, or null. `type` gets each change, also when the field is emptied. */
    | {
        kind: 'entry';
        placeholder?: string;
        label: string;
        /** Name of its button for assistive technology. Default: the title and the label. */
        name?: string;
        secret?: boolean;
        check(text: string): string | null;
        type?(text: string): void;
        command(text: string): Command;
      }
    /** A multi-line text to edit, without a button; `type` gets each change. It is read-only if not sensitive. */
    | { kind: 'area'; text: string; type(text: string): void }
    /** A choice without a separate page. */
    | { kind: 'select'; options: { value: string; label: string }[]; value: string; command(value: string): Command }
    /** A terminal command to copy, hidden until the user opens the control labeled `folded`. */
    | { kind: 'shell'; shell: string; folded?: string }
    /** Preformatted lines: commands, or the difference of a file with `+` and `-`; `folded` as above. */
    | { kind: 'text'; text: string; folded?: string }
    /** A table of texts with remarks below it, hidden until the user opens it. */
    | { kind: 'table'; table: Table; notes?: readonly string[] }
    /** The states during a span. */
    | { kind: 'strip'; strip: Strip }
    /** The chosen one of some charts; `choose` is called for another one. */
    | { kind: 'chart'; charts: Charts; chosen: Chart['id']; choose(id: Chart['id']): void }
    /** A finding or a remark. */
    | { kind: 'note' }
    /** A row that unfolds other rows. `button` acts without unfolding. */
    | { kind: 'expander'; rows: Row[]; button?: MenuButton }
    /** At most three values side by side, with the curve of a value over time. It opens a page. */
    | {
        kind: 'figures';
        figures: { title: string; value: string }[];
        curve: readonly (number | null)[];
        page: PageName;
        row?: string;
      }
  );
export type RowKind = Row['kind'];

/** Maximum number of characters of a value on the line of its title. */
const BESIDE = 24;

/** True for a value, such as an id, a key or an address, that is too long for the line of its title. */
export function isLong({ value, subtitle }: Extract<Row, { kind: 'fact' }>): boolean {
  return value.length > BESIDE && !value.includes('\n') && !subtitle;
}

export interface Group {
  id: string;
  title?: string;
  description?: string;
  /** True for a group under “Advanced” at the end of the page. Folded groups come last. */
  folded?: boolean;
  /** Screen readers announce new rows. */
  live?: boolean;
  /** Buttons at the end of the title. */
  actions?: (MenuButton & { icon: 'refresh' | 'add' })[];
  /** Further commands of the group, behind a menu button at the end of the title. */
  menu?: MenuButton[];
  /**
   * `ids`: the movable rows in the order that the user asked for last, which may differ from that of `rows`. `move`
   * returns the command that moves a row to another place, by drag and by Alt with an arrow key.
   * @param to new place of the row among the rows of `order.ids`, from 0
   */
  order?: { ids: readonly string[]; move(id: string, to: number): Command };
  rows: Row[];
}

/** A span of time, in ms since the epoch. */
export interface Span {
  from: number;
  until: number;
}

/** The head of a page: its state in a title and one sentence, with at most two buttons. Also an empty page. */
export interface Status {
  /** Name of a symbolic icon. */
  icon: string;
  tone: Tone;
  title: string;
  /** One sentence; screen readers announce its changes with those of the title. */
  sentence: string | null;
  /** A gray line, which may change each second. */
  line?: string | null;
  buttons: MenuButton[];
  /** Further commands, behind a menu button next to the buttons. */
  menu?: MenuButton[];
  /** A span that ends, drawn as a ring around the icon. */
  span?: Span | null;
  /** Reason for a wait, below the buttons; its room is always there. Without a wait, clients show `lockOf` there. */
  waiting?: string | null;
  /** The words of another program, to copy, hidden until the user unfolds them. */
  details?: string | null;
}

/** Returns why a button of a status can't be used; null if each can be used, or if the sentence says why. */
export function lockOf({ buttons }: Status): string | null {
  return buttons.find(({ sensitive, reason }) => sensitive === false && reason)?.reason ?? null;
}

export interface ListItem {
  /** Stable identifier, unique in the list. */
  id: string;
  title: string;
  /** Kind and origin in a few words. */
  badge: string;
  note: string | null;
  /** Explains the note. */
  details?: string;
  /** Name of an icon in the desktop's theme, or path of a picture. Browsers show none. */
  picture?: string | null;
  removable?: boolean;
  /** True for an item that is shown in gray. */
  faded?: boolean;
  /** True during a request about the item: its controls can't be used. */
  busy?: boolean;
}

/** The controls of a list's item. If one can't be used, the list's reason or the item's note says why. */
export interface ItemControls {
  /** The main command, which the item itself also runs. */
  start: MenuButton;
  /** Turns something on or off; an icon in a desktop app, or an entry of the menu. */
  toggle: MenuButton & { on: boolean; name: string };
  /** Returns further commands for the menu, which most items never open. */
  menu(): MenuButton[];
}

/** A list of any length. Clients draw only the visible items. */
export interface List {
  /** Name of the list for assistive technology. */
  title: string;
  /** The items, in the same array until they change. */
  items: readonly ListItem[];
  sensitive: boolean;
  /** Why the list can't be used, as for a row. */
  reason: string | null;
  /** Returns the command that removes an item. A list always has this, or never. */
  removal?(item: ListItem): Button;
  /** Returns the other controls of an item. A list always has this, or never. */
  controls?(item: ListItem): ItemControls;
  /** Commands about the whole list. */
  more?: { name: string; entries: Button[] };
  /** Reads the list again. Browsers, which read it with each visit, have no button for it. */
  refresh?: Button;
  /** In place of an empty list. */
  empty: Status;
}

/** A search field. */
export interface Search {
  label: string;
  text: string;
  type(text: string): void;
  /** Called when the field gets the keyboard focus. */
  begin?(): void;
  /** Follows the first result. */
  enter?(): void;
  /** The number of results as a text. Screen readers announce its changes. */
  found?: string;
  /** Check boxes next to the field. Their number never changes. */
  options?: { label: string; on: boolean; set(on: boolean): void }[];
}

/** The place of a form among the steps of a page, with buttons that stay in sight. */
export interface Steps {
  /** Index of the step, from 0. */
  at: number;
  place: string;
  back: Button;
  next: Button;
}

export interface Form {
  /** Clients show it above everything else. With no group it fills the page. */
  status?: Status;
  groups: Group[];
  /** Searches the list, or else the groups. Clients show it at the top. A form that has it keeps it. */
  search?: Search;
  /** A list below the groups. A form always has it, or never. */
  list?: List;
  /** A form always has it, or never. */
  steps?: Steps;
}

/** Wraps an action in a command. */
export function actionCommand(request: ActionRequest & ChangeOptions, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'action', request }, ...more };
}

export function goTo(page: PageName): Command {
  return { ask: { kind: 'page', page } };
}

export function clientCommand(task: ClientTask, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'client', task }, ...more };
}

/** Wraps work of the control's page in a command. */
export function workCommand(work: () => Promise<unknown>, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'work', work }, ...more };
}

export function noteRow(id: string, title: string, subtitle: string | null = null, tone: Tone = 'neutral'): Row {
  return { kind: 'note', id, title, subtitle, tone };
}

/** Returns a page that is only a status. */
export function statusForm(status: Status): Form {
  return { status, groups: [] };
}

/** Returns a page with a single remark. */
export function noteForm(title: string): Form {
  return { groups: [{ id: 'none', rows: [noteRow('none', title, null)] }] };
}

export function commandOfLink({ page, task }: Extract<Row, { kind: 'link' }>): Command {
  return task ? clientCommand(task) : goTo(page);
}

/** Returns every command of a form. Entries get the example as their text. */
export function commandsOf({ status, groups }: Form, example = 'example.com'): Command[] {
  return [
    ...commandsOfButtons(status?.buttons, status?.menu),
    ...groups.flatMap(({ rows, actions, menu, order }) => [
      ...commandsOfButtons(actions, menu),
      ...(order?.ids ?? []).map(id => order!.move(id, 0)),
      ...rows.flatMap(row => commandsOfRow(row, example)),
    ]),
  ];
}

function commandsOfButtons(...lists: (readonly Button[] | undefined)[]): Command[] {
  return lists.flatMap(buttons => (buttons ?? []).map(({ command }) => command));
}

function commandsOfRow(row: Row, example: string): Command[] {
  const own = (): Command[] => {
    if (row.kind === 'entry') return [row.command(example)];
    if (row.kind === 'select') return row.options.map(({ value }) => row.command(value));
    if (row.kind === 'link') return [commandOfLink(row)];
    if (row.kind === 'figures') return [goTo(row.page)];
    if (row.kind === 'item') return [row.remove, row.edit?.command].filter(each => each != null);
    if (row.kind === 'expander')
      return [...(row.button ? [row.button.command] : []), ...row.rows.flatMap(each => commandsOfRow(each, example))];
    return 'command' in row ? [row.command] : [];
  };
  return [...own(), ...commandsOfButtons(row.menu)];
}
