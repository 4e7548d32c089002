// Renders a list of any length with rows of equal height; only the rows near the visible part are in the document.
import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Number of rows rendered beyond each edge, for fast scrolling. */
const MARGIN = 10;

export interface VirtualListProps<T> {
  items: readonly T[];
  /** Height of a row in px at the usual font size; must match the style sheet. */
  rowHeight: number;
  label: string;
  /** True to keep the list scrolled to its end while it is there. */
  followEnd?: boolean;
  children(item: T): ComponentChildren;
}

/** Usual font size, in px. */
const USUAL = 16;

/** Returns the browser's font size as a multiple of the usual font size. */
const scaleOfLetters = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL;

export function VirtualList<T>({ items, label, followEnd, children, ...props }: VirtualListProps<T>) {
  const [rowHeight] = useState(() => Math.round(props.rowHeight * scaleOfLetters()));
  const box = useRef<HTMLElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const atEnd = useSignal(true);
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

  const from = Math.min(first.value, Math.max(0, items.length - 1));
  return (
    <section
      class="virtual-list"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
      tabIndex={0}
      ref={box}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        top.value = scrollTop;
        atEnd.value = scrollTop + clientHeight >= scrollHeight - rowHeight;
      }}
    >
      <div style={{ height: `${items.length * rowHeight}px` }}>
        <ul style={{ transform: `translateY(${from * rowHeight}px)` }}>
          {items.slice(from, from + shown.value).map((item, i) => (
            <li
              // reuses the rows that leave the list at one end, which halves the time of scripts and styles in a jump
              key={(from + i) % shown.value}
              aria-posinset={from + i + 1}
              aria-setsize={items.length}
              style={{ height: `${rowHeight}px` }}
            >
              {children(item)}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
