// Renders rows that the user reorders, by drag or by Alt with an arrow key.
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Group, Row } from '../../../view/form.ts';
import { fill } from '../../../view/translator.ts';
import { useApp } from '../../app.ts';

const STEPS: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };

interface OrderedRowsProps {
  rows: readonly Row[];
  order: NonNullable<Group['order']>;
  children(row: Row): ComponentChildren;
}

export function OrderedRows({ rows, order: { ids, move }, children }: OrderedRowsProps) {
  const { host, tr } = useApp();
  const { _ } = tr.value;
  const dragged = useRef<string | null>(null);
  const focused = useRef<Element | null>(null);
  const said = useSignal('');
  useLayoutEffect(() => {
    // an element loses the focus when it moves in the document
    const { current } = focused;
    if (current instanceof HTMLElement && document.activeElement === document.body) current.focus();
    focused.current = null;
  }, [ids.join('\n')]);
  const send = async ({ id, title }: Row, to: number) => {
    if (to < 0 || to >= ids.length || to === ids.indexOf(id)) return;
    focused.current = document.activeElement;
    if (!(await host.run(move(id, to)))) return;
    // Translators: the new place of a row in its list, such as 2 of 5
    said.value = `${title}: ${fill(_('%s of %s'), to + 1, ids.length)}`;
  };
  return (
    <>
      {rows.map(row =>
        ids.includes(row.id) ? (
          // biome-ignore lint/a11y/noStaticElementInteractions: the row's menu and Alt with an arrow key do the same
          <div
            key={row.id}
            class="movable"
            draggable
            aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown"
            onDragStart={({ dataTransfer }) => {
              dragged.current = row.id;
              dataTransfer?.setData('text/plain', row.title);
            }}
            onDragEnd={() => {
              dragged.current = null;
            }}
            onDragOver={event => dragged.current !== null && event.preventDefault()}
            onDrop={event => {
              event.preventDefault();
              const moved = rows.find(({ id }) => id === dragged.current);
              if (moved) void send(moved, ids.indexOf(row.id));
            }}
            onKeyDown={event => {
              const step = event.altKey && STEPS[event.key];
              if (!step) return;
              event.preventDefault();
              void send(row, ids.indexOf(row.id) + step);
            }}
          >
            {children(row)}
          </div>
        ) : (
          children(row)
        ),
      )}
      <p class="unseen" role="status">
        {said}
      </p>
    </>
  );
}
