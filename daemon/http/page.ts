// Completes the HTML of the browser page: the first state as HTML, and, in data blocks, which no browser executes (HTML
// Living Standard, 4.12.1), what the script goes on from: the texts of the first page and the events that show the state.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Draw, Drawing } from '../view/client/draw.ts';
import { isRightToLeft } from '../view/format.ts';
import { chooseLanguage } from '../view/language.ts';

export interface Reader {
  /** Tags of the languages that the reader wants, the best first. */
  languages: readonly string[];
  /** The state, and what an event stream would start with; null where the reader may not have that. */
  state: (Pick<Drawing, 'snapshot' | 'config'> & { events: string }) | null;
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
  const { draw } = createRequire(join(directory, 'index.html'))('./draw.cjs') as { draw: Draw };
  const available = [...names].flatMap(name => /^index\.(.+)\.json$/.exec(name)?.[1] ?? []);
  const scripts = [...template.matchAll(/<script src="([^"]+)"/g)];
  const link = scripts.map(([, path]) => `<${path}>; rel=preload; as=script`).join(', ');
  const htmlFor = async ({ languages, state }: Reader) => {
    const language = chooseLanguage(languages, available);
    const catalog = available.includes(language)
      ? await readFile(join(directory, `index.${language}.json`), 'utf8')
      : null;
    const direction = isRightToLeft({ locale: language }) ? 'rtl' : 'ltr';
    const blocks = [
      ...(catalog ? [`<script type="application/json" id="catalog">${withoutMarkup(catalog)}</script>`] : []),
      ...(state ? [`<script type="text/event-stream" id="events">${withoutMarkup(state.events)}</script>`] : []),
    ];
    const theme = state ? ` data-theme="${state.config.config.ui.theme}"` : '';
    const parts: Record<string, string> = {
      drawn: state ? draw({ ...state, language, catalog }) : '',
      data: blocks.join('\n    '),
    };
    return template
      .replace('lang="en" dir="ltr"', `lang="${language}" dir="${direction}"${theme}`)
      .replace(/\{\{(\w+)\}\}/g, (_, part) => parts[part]!);
  };
  return { link, htmlFor };
}

/** JSON in which nothing ends a script element or begins a comment; outside of strings JSON has no `<`. */
function withoutMarkup(json: string): string {
  return json.replaceAll('<', '\\u003c');
}
