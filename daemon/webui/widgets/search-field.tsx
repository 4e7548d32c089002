// Renders a field whose text narrows a list while it is typed.
import type { Signal } from '@preact/signals';

export function SearchField({ query, label }: { query: Signal<string>; label: string }) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={query}
      onInput={event => {
        query.value = event.currentTarget.value;
      }}
    />
  );
}
