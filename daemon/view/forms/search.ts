// Finds settings by words: every row of every page, with the page that holds it or that it leads to.
import type { Form, PageName, Row } from './form.ts';

export interface Hit {
  page: PageName;
  /** Title of the page. */
  place: string;
  title: string;
  subtitle: string;
}

/** @param pages name, title and form of each page that is searched. */
export function searchPages(pages: readonly (readonly [PageName, string, Form])[], query: string): Hit[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const hits = pages.flatMap(([page, place, { groups }]) =>
    groups.flatMap(group =>
      group.rows
        .filter(row => matches(row, `${place} ${group.title ?? ''}`, words))
        .map(row => ({
          page: row.kind === 'link' ? row.page : page,
          place,
          title: row.title,
          subtitle: group.title ?? '',
        })),
    ),
  );
  // a title that begins with what is looked for comes first
  const rank = ({ title }: Hit) => (title.toLowerCase().startsWith(words[0]!) ? 0 : 1);
  return hits.sort((a, b) => rank(a) - rank(b)).slice(0, 50);
}

function matches(row: Row, around: string, words: string[]): boolean {
  const text = `${row.title} ${row.subtitle ?? ''} ${around}`.toLowerCase();
  return words.every(word => text.includes(word));
}
