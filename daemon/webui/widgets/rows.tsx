// Renders rows of a form as HTML. A row shows what is confirmed; using it asks, and it moves with the event.
import { useSignal } from '@preact/signals';
import {
  type ComponentChildren,
  createContext,
  Fragment,
  type JSX,
  type TargetedInputEvent,
  type TargetedKeyboardEvent,
} from 'preact';
import { useContext, useId, useRef } from 'preact/hooks';
import { type Command, clientCommand, type Form, type Group, isLong, type Row, type RowKind } from '../../view/form.ts';
import { withoutDaemon } from '../../view/forms/offline.ts';
import { useApp } from '../client/app.ts';
import { idList, useGeneralReason } from '../client/reasons.ts';
import { isChange } from '../client/rights.ts';
import { addressOfPage, rowInAddress } from '../navigation.ts';
import { copy } from '../tasks/clipboard.ts';
import { CommandBox } from './command-box.tsx';

/** Id of the description of the group around a row. */
const GroupDescription = createContext<string | undefined>(undefined);

type Of<K extends RowKind> = Extract<Row, { kind: K }>;

export function FormView({ form }: { form: Form }) {
  const client = useApp().client.value;
  const { groups } = client.offline ? withoutDaemon(form, client) : form;
  const filled = groups.filter(({ rows }) => rows.length > 0);
  const folded = filled.filter(group => group.folded);
  return (
    <>
      {filled
        .filter(group => !group.folded)
        .map(group => (
          <GroupView key={group.id} group={group} />
        ))}
      {folded.length > 0 && <Fold groups={folded} />}
    </>
  );
}

/** Groups behind a row that opens them. */
function Fold({ groups }: { groups: Group[] }) {
  const { _ } = useApp().tr.value;
  const row = rowInAddress();
  const named = groups.some(({ rows }) => rows.some(({ id }) => id === row));
  const open = useSignal(named);
  return (
    <>
      <div class="group card">
        <button
          type="button"
          class="row fold"
          aria-expanded={open}
          onClick={() => {
            open.value = !open.value;
          }}
        >
          <span class="words">{_('Advanced')}</span>
          <span class="arrow" aria-hidden="true" />
        </button>
      </div>
      {open.value && groups.map(group => <GroupView key={group.id} group={group} />)}
    </>
  );
}

function GroupView({ group: { title, description, rows } }: { group: Group }) {
  const id = useId();
  const choices = rows.some(({ kind }) => kind === 'radio');
  return (
    <section class="group" aria-labelledby={title ? id : undefined}>
      {title && <h2 id={id}>{title}</h2>}
      {description && (
        <p class="description" id={`${id}-about`}>
          {description}
        </p>
      )}
      <div
        class="card"
        data-rows={rows.map(row => encodeURIComponent(row.id)).join(' ')}
        {...(choices ? { role: 'radiogroup', 'aria-labelledby': id } : {})}
      >
        <GroupDescription.Provider value={description && `${id}-about`}>
          {rows.map(row => (
            <RowView key={`${row.kind} ${row.id}`} row={row} />
          ))}
        </GroupDescription.Provider>
      </div>
    </section>
  );
}

function RowView({ row }: { row: Row }) {
  switch (row.kind) {
    case 'fact':
      return <FactRow row={row} />;
    case 'switch':
      return <SwitchRow row={row} />;
    case 'radio':
      return <RadioRow row={row} />;
    case 'button':
      return <ButtonRow row={row} />;
    case 'link':
      return <LinkRow row={row} />;
    case 'item':
      return <ItemRow row={row} />;
    case 'entry':
      return <EntryRow row={row} />;
    case 'select':
      return <SelectRow row={row} />;
    case 'shell':
      return (
        <div class="row">
          <Folded row={row}>
            <CommandBox title={row.title} command={row.shell} />
          </Folded>
        </div>
      );
    case 'text':
      return (
        <div class="row">
          <Folded row={row}>
            <Words row={row} />
            <pre>{row.text}</pre>
          </Folded>
        </div>
      );
    case 'note':
      return (
        <div class={`row tone-${row.tone ?? 'neutral'}`}>
          <Words row={row} />
          {row.done && (
            <span class="tick" aria-hidden="true">
              ✓
            </span>
          )}
        </div>
      );
  }
}

/** Content that opens with its label; without one it is always there. */
function Folded({ row, children }: { row: Of<'shell' | 'text'>; children: ComponentChildren }) {
  if (row.folded === undefined) return <>{children}</>;
  return (
    <details>
      <summary aria-label={`${row.title}: ${row.folded}`}>{row.folded}</summary>
      {children}
    </details>
  );
}

/** Title and subtitle, and why it can't be used. Their ids label and describe the control next to them. */
function Words({ row, id }: { row: Row; id?: string }) {
  const reason = useOwnReason(row);
  return (
    <div class="words">
      <span id={id} class="title">
        {row.title}
      </span>
      {row.subtitle && (
        <span id={id && `${id}-more`} class="subtitle">
          {row.englishLines ? <Lines text={row.subtitle} english={row.englishLines} /> : row.subtitle}
        </span>
      )}
      {reason && (
        <span id={id && `${id}-why`} class="subtitle">
          {reason}
        </span>
      )}
    </div>
  );
}

/** Text whose English lines are read aloud as English, and from left to right. */
function Lines({ text, english }: { text: string; english: readonly number[] }) {
  return text.split('\n').map((line, i) => (
    <Fragment key={i}>
      {i > 0 && '\n'}
      {english.includes(i) ? (
        <span lang="en" dir="ltr">
          {line}
        </span>
      ) : (
        line
      )}
    </Fragment>
  ));
}

/** The reason of a row, unless all of its kind can't be used now. */
function useOwnReason({ sensitive, reason }: Row): string | null {
  const general = useGeneralReason();
  return sensitive === false && general === undefined ? (reason ?? null) : null;
}

/** Ids of what describes a control, among them the reason why it can't be used. */
function useDescription(row: Row, id: string): string | undefined {
  const reason = useOwnReason(row);
  const group = useContext(GroupDescription);
  const ids = [row.subtitle ? `${id}-more` : undefined, reason ? `${id}-why` : undefined];
  return idList(...ids, row.sensitive === false && !reason ? group : undefined);
}

/**
 * A button that keeps the keyboard's focus while it can't be used: what it asked for is under way, and a disabled
 * element would lose the focus to the top of the page.
 * @param current it is the present choice, which pressing does not change
 */
export function CommandButton({
  command,
  sensitive = true,
  current = false,
  ...attributes
}: { command: Command; sensitive?: boolean; current?: boolean } & Omit<
  JSX.IntrinsicElements['button'],
  'onClick' | 'type' | 'command'
>) {
  const { run } = useApp();
  const usable = !useDenial(command) && sensitive;
  const reason = useGeneralReason();
  const { 'aria-describedby': description, ...others } = attributes;
  return (
    <button
      {...others}
      type="button"
      aria-describedby={usable ? description : idList(description as string | undefined, reason)}
      aria-disabled={usable ? undefined : true}
      onClick={() => usable && !current && void run(command)}
    />
  );
}

/** True for a command that is not for this device. */
export function useDenial({ ask }: Command): boolean {
  return useApp().readOnly.value && isChange(ask);
}

function FactRow({ row }: { row: Of<'fact'> }) {
  const app = useApp();
  const { _ } = app.tr.value;
  return (
    <div class="row">
      {isLong(row) ? (
        <div class="words">
          <span class="title">{row.title}</span>
          <LongValue text={row.value} />
        </div>
      ) : (
        <>
          <Words row={row} />
          <span class="value">{row.value}</span>
        </>
      )}
      {row.copy && (
        <button type="button" aria-label={`${_('Copy')} ${row.title}`} onClick={() => void copy(app, row.value)}>
          {_('Copy')}
        </button>
      )}
    </div>
  );
}

/** Characters at the end of a long value that stay in sight. */
const END = 8;

/** One line, cut in the middle where it has no room; the pointer shows it whole, and a selection has all of it. */
function LongValue({ text }: { text: string }) {
  return (
    <code class="long" title={text}>
      <span>{text.slice(0, -END)}</span>
      <span>{text.slice(-END)}</span>
    </code>
  );
}

function SwitchRow({ row }: { row: Of<'switch'> }) {
  const id = useId();
  const description = useDescription(row, id);
  return (
    <div class={`row tone-${row.tone ?? 'neutral'}`}>
      <Words row={row} id={id} />
      <CommandButton
        class="switch"
        role="switch"
        aria-checked={row.on}
        aria-labelledby={id}
        aria-describedby={description}
        command={row.command}
        sensitive={row.sensitive}
      >
        <span class="knob" />
      </CommandButton>
    </div>
  );
}

/**
 * A radio that moves with the event, not with the click. The arrow keys move the focus alone: none is chosen by
 * passing.
 */
function RadioRow({ row }: { row: Of<'radio'> }) {
  const id = useId();
  const description = useDescription(row, id);
  return (
    <CommandButton
      class="row radio"
      role="radio"
      aria-checked={row.checked}
      aria-labelledby={id}
      aria-describedby={description}
      command={row.command}
      sensitive={row.sensitive}
      current={row.checked}
      onKeyDown={moveFocus}
    >
      <span class="mark" />
      <Words row={row} id={id} />
    </CommandButton>
  );
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

export function moveFocus(event: TargetedKeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key];
  if (!step) return;
  const radios = [...event.currentTarget.closest('[role=radiogroup]')!.querySelectorAll<HTMLElement>('[role=radio]')];
  const next = radios[(radios.indexOf(event.currentTarget) + step + radios.length) % radios.length];
  event.preventDefault();
  next?.focus();
}

function ButtonRow({ row }: { row: Of<'button'> }) {
  const id = useId();
  const description = useDescription(row, id);
  return (
    <div class={`row tone-${row.tone ?? 'neutral'}`}>
      <Words row={row} id={id} />
      <CommandButton
        class={row.style}
        aria-label={`${row.title}: ${row.label}`}
        aria-describedby={description}
        aria-busy={row.busy}
        command={row.command}
        sensitive={(row.sensitive ?? true) && !row.busy}
      >
        {row.label}
      </CommandButton>
    </div>
  );
}

function LinkRow({ row }: { row: Of<'link'> }) {
  const content = (
    <>
      <Words row={row} />
      {row.value && <span class="value">{row.value}</span>}
      <span class="arrow" aria-hidden="true" />
    </>
  );
  if (row.task)
    return (
      <CommandButton class="row opens" aria-haspopup="dialog" command={clientCommand(row.task)}>
        {content}
      </CommandButton>
    );
  return (
    <a class="row" href={addressOfPage(row.page, row.row)}>
      {content}
    </a>
  );
}

function ItemRow({ row }: { row: Of<'item'> }) {
  const { _ } = useApp().tr.value;
  const id = useId();
  const description = useDescription(row, id);
  return (
    <div class="row">
      <Words row={row} id={id} />
      {row.edit && (
        <CommandButton
          aria-label={row.edit.label}
          aria-describedby={description}
          command={row.edit.command}
          sensitive={row.sensitive}
        >
          {_('Edit')}
        </CommandButton>
      )}
      {row.remove && (
        <CommandButton
          aria-label={row.removeLabel}
          aria-describedby={description}
          command={row.remove}
          sensitive={row.sensitive}
        >
          {_('Remove')}
        </CommandButton>
      )}
    </div>
  );
}

function EntryRow({ row }: { row: Of<'entry'> }) {
  const id = useId();
  const { run, tr } = useApp();
  const text = useSignal('');
  const missing = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  const given = text.value.trim();
  const denied = useDenial(row.command(given));
  const general = useGeneralReason();
  const reason = useOwnReason(row);
  const group = useContext(GroupDescription);
  const here = (row.sensitive ?? true) && !denied;
  const problem = row.check(given) ?? (missing.value && given === '' ? tr.value._('Fill in this field first.') : null);
  const usable = here && problem === null;
  const problemId = problem === null ? undefined : `${id}-problem`;
  const why = reason ? `${id}-why` : (general ?? group);
  const attributes = {
    id,
    ref: field,
    autocapitalize: 'none' as const,
    spellcheck: false,
    placeholder: row.placeholder,
    value: text,
    onInput(event: TargetedInputEvent<HTMLInputElement>) {
      text.value = event.currentTarget.value;
    },
    'aria-invalid': problem !== null,
    'aria-describedby': problemId,
  };
  const submit = async () => {
    if (!usable) return;
    if (given === '') {
      missing.value = true;
      field.current!.focus();
      return;
    }
    if (!(await run(row.command(given)))) return;
    missing.value = false;
    // newer text stays
    if (text.value.trim() === given) text.value = '';
  };
  return (
    <form
      class="row entry"
      onSubmit={event => {
        event.preventDefault();
        void submit();
      }}
    >
      <label for={id}>{row.title}</label>
      <div class="line">
        {row.secret ? (
          <input {...attributes} type="password" autocomplete="new-password" />
        ) : (
          <input {...attributes} type="text" autocomplete="off" />
        )}
        <button
          type="submit"
          aria-label={`${row.title}: ${row.label}`}
          aria-describedby={usable ? undefined : idList(problemId, here ? undefined : why)}
          aria-disabled={usable ? undefined : true}
        >
          {row.label}
        </button>
      </div>
      {problem !== null && (
        <p id={problemId} class="problem">
          {problem}
        </p>
      )}
      {reason && (
        <p id={`${id}-why`} class="subtitle">
          {reason}
        </p>
      )}
    </form>
  );
}

function SelectRow({ row }: { row: Of<'select'> }) {
  const id = useId();
  const description = useDescription(row, id);
  const { run } = useApp();
  const usable = !useDenial(row.command(row.value)) && row.sensitive !== false;
  const reason = useGeneralReason();
  return (
    <div class="row">
      <Words row={row} id={id} />
      <select
        aria-labelledby={id}
        aria-describedby={usable ? description : idList(description, reason)}
        disabled={!usable}
        value={row.value}
        onChange={event => {
          const chosen = event.currentTarget.value;
          event.currentTarget.value = row.value; // until the event confirms it
          void run(row.command(chosen));
        }}
      >
        {row.options.map(({ value, label }) => (
          <option key={value} value={value} selected={value === row.value}>
            {label}
          </option>
        ))}
      </select>
    </div>
  );
}
