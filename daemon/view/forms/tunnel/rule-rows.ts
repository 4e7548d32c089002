// Builds the rows of the form of a rule: choices, texts to give, and the work behind them.
import type { Command, Row } from '../../form.ts';
import type { Translator } from '../../translator.ts';
import { checks } from '../validate.ts';

/** Value of a choice that leaves something as it is. */
export const NONE = '';

export interface Choice<T> {
  value: string;
  label: string;
  gives: T;
}

export const work = (does: () => Promise<unknown>): Command => ({
  ask: { kind: 'work', work: does },
});

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
    command: name => work(async () => chosen(choices.find(each => each.value === name)!.gives)),
  };
}

/** A text to give; without a check, a name. */
export function textRow(
  words: Pick<Extract<Row, { kind: 'entry' }>, 'id' | 'title'> &
    Partial<Pick<Extract<Row, { kind: 'entry' }>, 'label' | 'check'>>,
  given: (text: string) => Promise<unknown>,
  tr: Translator,
): Row {
  return {
    kind: 'entry',
    label: tr._('Set'),
    check: checks(tr).name,
    ...words,
    command: text => work(() => given(text)),
  };
}

/** Identifies a value among choices. */
export const textOf = (value: unknown): string => JSON.stringify(value);

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
