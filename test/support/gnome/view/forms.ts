// Rows of forms, and a daemon that they ask.
import type { Client } from '../../../../daemon/api/client.ts';
import type { Form, Row } from '../../../../daemon/view/form.ts';

export const rowsOf = ({ groups }: Form): Row[] => groups.flatMap(({ rows }) => rows);
export const named = (rows: Row[], id: string) => rows.find(row => row.id === id)!;

/** A daemon of canned answers, which remembers what it was asked. */
export function scripted(answers: Record<string, unknown>) {
  const asked: [line: string, options: unknown][] = [];
  const call = (async (line: string, options?: unknown) => {
    asked.push([line, options]);
    return answers[line];
  }) as Client['call'];
  return { call, asked, answers };
}
