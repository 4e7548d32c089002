// Defines a page as data: groups of rows with their words and what each row asks for. Panel and web page render the same form.
import type { ToolAccountsChange } from '../api/accounts.ts';
import type { ChangeOptions, Subject } from '../api/changes.ts';
import type { DoctorFixRequest } from '../api/doctor.ts';
import type { NetworksAnswer } from '../api/networks.ts';
import type { ActionRequest, ConfigPatch, KillSwitchPause, KillSwitchRequest } from '../api/schema.ts';
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
  | 'choose-mode'
  | 'shortcuts'
  | 'portal'
  | 'portal-by-hand';

/** A request, as data. */
export type Ask =
  | { kind: 'action'; request: ActionRequest & ChangeOptions }
  | { kind: 'kill-switch'; change: KillSwitchRequest | KillSwitchPause }
  | { kind: 'config'; patch: ConfigPatch }
  | { kind: 'open'; uri: string }
  | { kind: 'page'; page: PageName }
  | { kind: 'copy'; text: string }
  /** Sends one request through the tunnel, to see where it comes out. */
  | { kind: 'proof' }
  /** Applies a fix of the doctor as it was shown. */
  | { kind: 'fix'; request: DoctorFixRequest }
  /** Undoes the last fix. */
  | { kind: 'undo-fix' }
  /** The answer to the command's question has the `credentials`. */
  | { kind: 'tool-accounts'; change: ToolAccountsChange }
  /** About the rules for networks. */
  | { kind: 'networks'; change: NetworksChange }
  | ChangeAsk
  /** Starts the daemon again, as a demo or not. */
  | { kind: 'restart'; demo: boolean }
  | { kind: 'client'; task: ClientTask }
  /** Work of the page that the control is on. A text that it resolves with is said instead of `done`. */
  | { kind: 'work'; work(): Promise<unknown> };

/** A change of the rules for networks. */
export type NetworksChange =
  | ({ do: 'answer' } & NetworksAnswer)
  | { do: 'revert' }
  /** `lines` are those of the rule's table, without its name; `allow` lets it lower the protection; `replaces` names the rule that it replaces. */
  | { do: 'add'; name: string; lines: readonly string[]; allow?: boolean; replaces?: string | null }
  | { do: 'remove'; name: string };

/** Requests about changes that revert on their own. */
export type ChangeAsk =
  | { kind: 'change'; what: 'confirm' | 'revert'; subjects: readonly Subject[] }
  /** The report of lost changes was read. */
  | { kind: 'acknowledge' }
  /** Moves the end from `endsAt` by so many seconds. */
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
  /** Names of values to type, which are not shown. */
  secrets?: string[];
}

/** The action behind a control. */
export interface Command {
  ask: Ask;
  /** Asked first; the command is dropped unless the user agrees. */
  confirm?: Question;
  /** The way to undo it, offered once it is done. */
  undo?: Ask;
  /** Said once it is done, where its effect is not in plain sight. */
  done?: string;
}

/** A command with the words on its control. */
export interface Button {
  label: string;
  command: Command;
}

export type Tone = 'success' | 'accent' | 'warning' | 'error' | 'neutral';

interface Common {
  /** Unique in its form, and stable. */
  id: string;
  title: string;
  subtitle?: string | null;
  /** Lines of the subtitle, from 0, that are English in every language of the interface. */
  englishLines?: readonly number[];
  /** Absent: true. */
  sensitive?: boolean;
  /** Why it is not sensitive, where neither the subtitle nor the state of the tunnel says it. */
  reason?: string | null;
  tone?: Tone;
}

export type Row = Common &
  (
    | { kind: 'fact'; value: string; copy?: boolean }
    | { kind: 'switch'; on: boolean; command: Command }
    /** One of a group's choices; `checked` is what is confirmed. */
    | { kind: 'radio'; checked: boolean; command: Command }
    | { kind: 'button'; label: string; style?: 'suggested' | 'destructive'; command: Command; busy?: boolean }
    /**
     * Opens a page, at one of its rows if `row` is its id; `value` is what it is set to now. `task` opens a dialog first,
     * which leads to the page.
     */
    | { kind: 'link'; value?: string; page: PageName; row?: string; task?: ClientTask }
    /** An entry of a list, which `remove` takes off it, and `edit` opens. */
    | { kind: 'item'; remove: Command | null; removeLabel: string; edit?: Button }
    /** Text to give; `check` says what is wrong with it, or null. */
    | {
        kind: 'entry';
        placeholder?: string;
        label: string;
        /** Name of its button for assistive technology; by default both of the above. */
        name?: string;
        secret?: boolean;
        check(text: string): string | null;
        command(text: string): Command;
      }
    /** Text of many lines to edit, without a button; `type` gets it at each change. It can only be read while it is not sensitive. */
    | { kind: 'area'; text: string; type(text: string): void }
    /** A choice that needs no page. */
    | { kind: 'select'; options: { value: string; label: string }[]; value: string; command(value: string): Command }
    /** A command for a terminal, to copy; hidden until what is labeled `folded` is opened. */
    | { kind: 'shell'; shell: string; folded?: string }
    /** Lines as they are: the difference of a file, where `+` and `-` begin them, or commands; `folded` as above. */
    | { kind: 'text'; text: string; folded?: string }
    /** A finding or a remark; `done` marks it as in order. */
    | { kind: 'note'; done?: true }
  );
export type RowKind = Row['kind'];

/** Characters that a value may have on the line of its title. */
const BESIDE = 24;

/** True for a value that is too long for the line of its title: an id, a key or an address. */
export function isLong({ value, subtitle }: Extract<Row, { kind: 'fact' }>): boolean {
  return value.length > BESIDE && !value.includes('\n') && !subtitle;
}

export interface Group {
  id: string;
  title?: string;
  description?: string;
  /** Shown only after “Advanced” at the end of the page is opened. Folded groups come last. */
  folded?: boolean;
  /** Rows that come are read aloud. */
  live?: boolean;
  rows: Row[];
}

export interface ListItem {
  /** Unique in its list, and stable. */
  id: string;
  title: string;
  /** Kind and origin in a few words. */
  badge: string;
  note: string | null;
  removable: boolean;
}

/** A list of any length, of which clients draw only what is in sight. */
export interface List {
  /** Name for assistive technology. */
  title: string;
  /** The same array while nothing has changed. */
  items: readonly ListItem[];
  sensitive: boolean;
  /** Why it is not sensitive, as for a row. */
  reason: string | null;
  removal(item: ListItem): Button;
  /** Commands about the whole list. */
  more: { name: string; entries: Button[] };
  /** Icon and words in the place of a list without items. */
  empty: { icon: string; title: string };
}

/** A field to search in. */
export interface Search {
  label: string;
  text: string;
  type(text: string): void;
  /** The keyboard came into the field. */
  begin?(): void;
  /** Follows the first of what is found. */
  enter?(): void;
  /** The number of results in words, read aloud as it changes. */
  found?: string;
}

export interface Form {
  groups: Group[];
  /** Searches the list, or the groups where there is no list; clients show it above them. A form always has it, or never. */
  search?: Search;
  /** Clients show it below the groups. A form always has it, or never. */
  list?: List;
}

/** The action without its wrapping, for the many rows that perform one. */
export function actionCommand(request: ActionRequest & ChangeOptions, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'action', request }, ...more };
}

export function goTo(page: PageName): Command {
  return { ask: { kind: 'page', page } };
}

export function clientCommand(task: ClientTask, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'client', task }, ...more };
}

/** Work of the page that the control is on. */
export function workCommand(work: () => Promise<unknown>, more: Omit<Command, 'ask'> = {}): Command {
  return { ask: { kind: 'work', work }, ...more };
}

export function noteRow(id: string, title: string, subtitle: string | null = null, tone: Tone = 'neutral'): Row {
  return { kind: 'note', id, title, subtitle, tone };
}

/** A page that has nothing but a remark. */
export function noteForm(title: string, subtitle: string | null = null, tone: Tone = 'neutral'): Form {
  return { groups: [{ id: 'none', rows: [noteRow('none', title, subtitle, tone)] }] };
}

export function commandOfLink({ page, task }: Extract<Row, { kind: 'link' }>): Command {
  return task ? clientCommand(task) : goTo(page);
}

/** Every command that the rows of a form can lead to; entries and selections are asked with an example. */
export function commandsOf({ groups }: Form, example = 'example.com'): Command[] {
  return groups.flatMap(({ rows }) =>
    rows.flatMap((row): Command[] => {
      if (row.kind === 'entry') return [row.command(example)];
      if (row.kind === 'select') return row.options.map(({ value }) => row.command(value));
      if (row.kind === 'link') return [commandOfLink(row)];
      if (row.kind === 'item') return [row.remove, row.edit?.command].filter(each => each != null);
      return 'command' in row ? [row.command] : [];
    }),
  );
}
