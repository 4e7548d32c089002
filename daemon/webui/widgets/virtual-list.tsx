// Renders a list of any length with rows of equal height; only the rows near the visible part are in the document. The list is
// one stop of the keyboard.
import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { moveFocus } from './rows/menu.tsx';

/** Number of rows rendered beyond each edge, for fast scrolling. */
const MARGIN = 10;

interface Item {
  /** Stable identifier, unique in the list. */
  id: string | number;
}

export interface VirtualListProps<T extends Item> {
  items: readonly T[];
  /** Height of a row in px at the usual font size; must match the style sheet. */
  rowHeight: number;
  label: string;
  /** True to keep the list scrolled to its end while it is there. */
  followEnd?: boolean;
  /** @param tabIndex for the element of the item that gets the focus */
  children(item: T, tabIndex: number): ComponentChildren;
}

/** Usual font size, in px. */
const USUAL = 16;

/** Returns the browser's font size as a multiple of the usual font size. */
const scaleOfLetters = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL;

export function VirtualList<T extends Item>({ items, label, followEnd, children, ...props }: VirtualListProps<T>) {
  const [rowHeight] = useState(() => Math.round(props.rowHeight * scaleOfLetters()));
  const box = useRef<HTMLElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const atEnd = useSignal(true);
  const printed = usePrinted();
  const first = useComputed(() => Math.max(0, Math.floor(top.value / rowHeight) - MARGIN));
  const shown = useComputed(() => Math.ceil(height.value / rowHeight) + 2 * MARGIN);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      height.value = entry!.contentRect.height;
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (followEnd && atEnd.value) box.current!.scrollTop = box.current!.scrollHeight;
  }, [items, followEnd]);
  useSignalEffect(() => {
    if (top.value > 0 && box.current!.scrollTop === 0) top.value = 0; // the list became shorter
  });

  const from = printed ? 0 : Math.min(first.value, Math.max(0, items.length - 1));
  const rows = items.slice(from, printed ? items.length : from + shown.value);
  const inSight = Math.min(Math.floor(top.value / rowHeight), items.length - 1);
  /** Reads the position. The browser reports a scroll only with the next paint, so keys call this directly. */
  const follow = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    top.value = scrollTop;
    atEnd.value = scrollTop + clientHeight >= scrollHeight - rowHeight;
  };
  const { stop, ...keyboard } = useStop({
    box,
    follow,
    rowHeight,
    items,
    from,
    to: from + rows.length,
    inSight,
  });
  return (
    <section
      class="virtual-list"
      // a short list is not followed by an empty box; two pixels are the border
      style={{ maxHeight: `${items.length * rowHeight + 2}px` }}
      hidden={items.length === 0}
      aria-label={label}
      tabIndex={-1}
      ref={box}
      {...keyboard}
      onScroll={follow}
    >
      <div style={{ height: `${items.length * rowHeight}px` }}>
        <ul style={{ transform: `translateY(${from * rowHeight}px)` }}>
          {rows.map((item, i) => (
            <li
              // reuses the rows that leave the list at one end, which halves the time of scripts and styles in a jump
              key={(from + i) % Math.max(shown.value, rows.length)}
              aria-posinset={from + i + 1}
              aria-setsize={items.length}
              style={{ height: `${rowHeight}px` }}
            >
              {children(item, from + i === stop ? 0 : -1)}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/** Returns true while the browser prints the page. */
export function usePrinted(): boolean {
  const printed = useSignal(false);
  useEffect(() => {
    const follow = ({ type }: Event) => {
      printed.value = type === 'beforeprint';
    };
    for (const type of ['beforeprint', 'afterprint']) addEventListener(type, follow);
    return () => {
      for (const type of ['beforeprint', 'afterprint']) removeEventListener(type, follow);
    };
  }, []);
  return printed.value;
}

/** Elements of a row between which the arrow keys move. */
const CONTROLS = '[tabindex]:not([role=menu])';

interface StopOptions {
  box: RefObject<HTMLElement | null>;
  /** Reads how far the list is scrolled. */
  follow(): void;
  rowHeight: number;
  items: readonly Item[];
  /** Range of the items in the document; `to` is not in it. */
  from: number;
  to: number;
  /** First item that the user sees. */
  inSight: number;
}

/**
 * Returns the item that Tab reaches, with handlers for keys that move to another item, move within the item, or remove it.
 * The focus follows its item when the list changes.
 */
function useStop({ box, follow, rowHeight, items, from, to, inSight }: StopOptions) {
  const { length } = items;
  /** Item that had the focus last, and its place. */
  const held = useSignal<{ id: Item['id'] | undefined; place: number }>({ id: items[0]?.id, place: 0 });
  const { id, place } = held.value;
  const found = useMemo(() => items.findIndex(item => item.id === id), [items, id]);
  // the next item takes the place of an item that is gone
  const current = found >= 0 ? found : Math.max(0, Math.min(place, length - 1));
  const isDrawn = current >= from && current < to;
  const hold = (at: number) => {
    held.value = { id: items[at]?.id, place: at };
  };
  const rowOf = (target: EventTarget | Element | null) => (target instanceof Element ? target.closest('li') : null);
  const placeOf = (row: Element | null) => Number(row?.getAttribute('aria-posinset') ?? 0) - 1;
  const focus = () =>
    box
      .current!.querySelector<HTMLElement>(`li[aria-posinset="${current + 1}"] [tabindex="0"]`)
      ?.focus({ preventScroll: true });
  const had = box.current?.contains(document.activeElement);
  useLayoutEffect(() => {
    if (length > 0 && found !== place) hold(current);
    const { activeElement } = document;
    const isHere = box.current!.contains(activeElement);
    // the element that had the focus is gone
    const isLost = had && activeElement === document.body;
    if (!isHere && !isLost) return;
    // another row has the focus, or the element with the focus shows another item
    if (isDrawn && placeOf(rowOf(activeElement)) !== current) focus();
    else if (!isDrawn && activeElement !== box.current) box.current!.focus({ preventScroll: true });
  });
  const goTo = (index: number) => {
    const list = box.current!;
    const next = Math.max(0, Math.min(index, length - 1));
    const start = next * rowHeight;
    list.scrollTop = Math.max(start + rowHeight - list.clientHeight, Math.min(start, list.scrollTop));
    follow();
    if (next === current) focus();
    else hold(next);
  };
  return {
    stop: isDrawn ? current : inSight,
    onFocusIn({ target }: FocusEvent) {
      const row = rowOf(target);
      if (row) hold(placeOf(row));
    },
    onKeyDown(event: KeyboardEvent) {
      if (event.defaultPrevented) return; // an open menu has used the key
      const row = rowOf(event.target);
      const page = Math.floor(box.current!.clientHeight / rowHeight);
      const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -length, End: length };
      const step = Object.entries(steps).find(([key]) => key === event.key)?.[1];
      if (event.key === 'Delete' && !event.repeat)
        row?.querySelector<HTMLElement>('[aria-keyshortcuts=Delete]')?.click();
      if (row && /^Arrow(Left|Right)$/.test(event.key))
        moveFocus(event, [...row.querySelectorAll<HTMLElement>(CONTROLS)]);
      if (step === undefined) return;
      event.preventDefault();
      goTo(current + step);
    },
  };
}
