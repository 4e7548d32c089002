// Completes the HTML of the browser page: the language, its texts for the first page, and the events that show the
// state. All are data blocks, which no browser executes (HTML Living Standard, 4.12.1).
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRightToLeft } from '../view/format.ts';
import { chooseLanguage } from '../view/language.ts';

export interface Reader {
  /** Tags of the languages that the reader wants, the best first. */
  languages: readonly string[];
  /** What an event stream would start with; '' where the reader may not have that. */
  events: string;
}

export interface Page {
  /** The `Link` header (RFC 8288) that has a browser ask for the script before it parses the HTML. */
  link: string;
  htmlFor(reader: Reader): Promise<string>;
}

/**
 * Makes the HTML for a reader from the parts that data/build/webui.mjs wrote.
 * @param names the files in `directory`
 */
export function createPage(directory: string, names: ReadonlySet<string>): Page {
  const template = readFileSync(join(directory, 'index.html'), 'utf8');
  const available = [...names].flatMap(name => /^index\.(.+)\.json$/.exec(name)?.[1] ?? []);
  const scripts = [...template.matchAll(/<script type="module" src="([^"]+)"/g)];
  const link = scripts.map(([, path]) => `<${path}>; rel=modulepreload`).join(', ');
  const htmlFor = async ({ languages, events }: Reader) => {
    const language = chooseLanguage(languages, available);
    const catalog = available.includes(language)
      ? await readFile(join(directory, `index.${language}.json`), 'utf8')
      : null;
    const direction = isRightToLeft({ locale: language }) ? 'rtl' : 'ltr';
    const blocks = [
      ...(catalog ? [`<script type="application/json" id="catalog">${withoutMarkup(catalog)}</script>`] : []),
      ...(events ? [`<script type="text/event-stream" id="events">${withoutMarkup(events)}</script>`] : []),
    ];
    return template
      .replace('lang="en" dir="ltr"', `lang="${language}" dir="${direction}"`)
      .replace('{{data}}', () => blocks.join('\n    '));
  };
  return { link, htmlFor };
}

/** JSON in which nothing ends a script element or begins a comment; outside of strings JSON has no `<`. */
function withoutMarkup(json: string): string {
  return json.replaceAll('<', '\\u003c');
}
