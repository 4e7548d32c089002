// Renders rows that the user reorders, by drag or by Alt with an arrow key.
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { placeText } from '../../../view/client/labels.ts';
import type { Group, Row } from '../../../view/form.ts';
import { useApp } from '../../app.ts';

const STEPS: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };

interface OrderedRowsProps {
  rows: readonly Row[];
  order: NonNullable<Group['order']>;
  children(row: Row): ComponentChildren;
}

export function OrderedRows({ rows, order: { ids, move }, children }: OrderedRowsProps) {
  const { host, tr } = useApp();
  const dragged = useRef<string | null>(null);
  const said = useSignal('');
  const { activeElement } = document;
  useLayoutEffect(() => {
    // an element loses the focus when it moves in the document
    if (activeElement instanceof HTMLElement && document.activeElement === document.body) activeElement.focus();
  }, [rows.map(({ id }) => id).join('\n')]);
  const send = async ({ id, title }: Row, to: number) => {
    if (to < 0 || to >= ids.length || to === ids.indexOf(id)) return;
    if (await host.run(move(id, to))) said.value = placeText(title, to + 1, ids.length, tr.value);
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
