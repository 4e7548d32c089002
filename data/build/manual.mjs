// Writes the manual page of a program from its own help, that of every command included: node manual.mjs MAIN NAME VERSION OUT
// culvert(1) is made by its own program, from the command table (daemon/cli/command-line/manual.ts).
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [main, name, version, out] = process.argv.slice(2);

/** The help of each command by its words, printed by one start of the program. */
const helps = JSON.parse(execFileSync(process.execPath, [main, '__help'], { encoding: 'utf8' }));

/** Reads commander's help: usage, description, and for each section its terms with their meaning, or its plain lines. */
function help(words) {
  const [usage, ...blocks] = helps[words.join(' ')].trimEnd().split(/\n\n+/);
  const page = { usage: usage.replace(/^Usage: /, '').replace(/\s+/g, ' '), description: '', sections: new Map() };
  for (const block of blocks) {
    const heading = /^(\S.*):\n(?= )/.exec(block);
    if (heading) page.sections.set(heading[1], items(block.slice(heading[0].length)));
    else if (!/^ /.test(block))
      page.description = [page.description, block.replace(/\s*\n\s*/g, ' ')].filter(Boolean).join('\n');
  }
  return page;
}

function items(block) {
  const list = [];
  for (const line of block.split('\n')) {
    const item = /^ {2}(\S.*?)(?: {2,}(\S.*))?$/.exec(line);
    if (item) list.push({ term: item[1], meaning: item[2] ?? '' });
    else if (list.length) list.at(-1).meaning += ` ${line.trim()}`;
  }
  return list;
}

/** As groff_man(7) asks: hyphens that are to be copied, and what would begin a request. */
function escaped(text) {
  return text
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/~/g, '\\(ti')
    .replace(/^(?=[.'])/gm, '\\&');
}

const listed = list =>
  list.flatMap(({ term, meaning }) => ['.TP', `.B ${escaped(term)}`, escaped(meaning.trim()) || '\\&']);
const own = list => list.filter(({ term }) => !/^(-h, --help|help )/.test(term));

function command(words) {
  const { usage, description, sections } = help(words);
  const children = own(sections.get('Commands') ?? []).map(({ term }) => term.split(' ')[0]);
  return [
    `.SS ${escaped(usage.replace(`${name} `, '').replace(' [options]', ''))}`,
    escaped(description),
    ...listed(own([...(sections.get('Arguments') ?? []), ...(sections.get('Options') ?? [])])),
    ...children.flatMap(child => command([...words, child])),
  ];
}

/** Pages that are written by hand about single commands. */
const further = readdirSync(join(import.meta.dirname, '../man'))
  .filter(file => file.startsWith(`${name}-`))
  .map(file => file.replace(/\.1$/, ''))
  .sort();
const { description, sections } = help([]);
const commands = own(sections.get('Commands') ?? []).map(({ term }) => term.split(' ')[0]);
const known = ['Options', 'Commands', 'Global Options', 'Arguments'];
const page = [
  `.TH ${name.toUpperCase()} 1 "" "Culvert ${version}" "User Commands"`,
  '.SH NAME',
  `${escaped(name)} \\- ${escaped(description.split(/[.:\n]/)[0].replace(/^./, letter => letter.toLowerCase()))}`,
  '.SH SYNOPSIS',
  `.B ${escaped(name)}`,
  '[\\fIoptions\\fR] [\\fIcommand\\fR]',
  '.SH DESCRIPTION',
  escaped(description),
  '.PP',
  'It is a part of Culvert, an unofficial client for Cloudflare WARP, and not of the forward proxy or the debug tool of the same name.',
  '.SH OPTIONS',
  ...listed(sections.get('Options') ?? []),
  '.SH COMMANDS',
  ...commands.flatMap(child => command([child])),
  ...[...sections]
    .filter(([title]) => !known.includes(title))
    .flatMap(([title, list]) => [`.SH ${escaped(title.replace(/\s*\(.*/, '').toUpperCase())}`, ...listed(list)]),
  '.SH SEE ALSO',
  [...further, 'culvert'].map(each => `.BR ${escaped(each)} (1)`).join(',\n'),
];
writeFileSync(out, `${page.filter(line => line !== '').join('\n')}\n`);
