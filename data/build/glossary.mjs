// Checks the words of code, comments and documents: node data/build/glossary.mjs. Words are added as the tree becomes free of
// them, so that it passes at all times.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { po } from 'gettext-parser';

/** British spelling -> the American one that we use. A pattern matches at the start of a word. */
const SPELLINGS = {
  analyse: 'analyze',
  authoris: 'authoriz…',
  behaviour: 'behavior',
  catalogue: 'catalog',
  centre: 'center',
  colour: 'color',
  favour: 'favor',
  grey: 'gray',
  honour: 'honor',
  initialis: 'initializ…',
  'labelled(?!by)': 'labeled', // aria-labelledby keeps its spelling
  licence: 'license',
  neighbour: 'neighbor',
  normalis: 'normaliz…',
  'optimis(?!t)': 'optimiz…',
  organis: 'organiz…',
  recognis: 'recogniz…',
  serialis: 'serializ…',
  synchronis: 'synchroniz…',
  signalled: 'signaled',
  'tunnell(ed|ing)': 'tunneled, tunneling',
  whilst: 'while',
};
/** Words of the dialect that the review lists -> the usual ones. */
const WORDS = {
  'anew\\b': 'again',
  'any more(?! (than|of|\\w+s)\\b)': 'anymore',
  'can not': 'cannot',
  'for ever\\b': 'forever',
  'none of ours': 'not ours',
  'no sooner': 'only when',
  'as it stands': 'unchanged',
  'stands where': 'is where',
  unhinder: 'clearBlocked',
};
/** Start of a comment, but not its further lines, or of the title of a test or a suite. */
const START = String.raw`(?:/\*\*?\s+(?:\* )?|(?<!^\s*//.*\n\s*)// |\b(?:test|it|describe)(?:\.\w+)?\(\s*['"\`])`;
/** Openings of comments and titles that make a reader look for the subject. */
const OPENINGS = [
  ['of', 'a noun, such as "Path of the file"'],
  ['what|who|whoever|whatever|which|where|how', 'a noun, such as "Options of a fetch"'],
].map(([words, better]) => ({ pattern: new RegExp(`${START}(?:${words})\\b(?!.*\\?)`, 'gim'), better }));
/** Terms that translated strings do not use, from the table in CONTRIBUTING.md -> the usual ones. */
const TERMS = {
  'go(es)? (out )?directly': 'bypass WARP',
  'go(es)? around the tunnel': 'bypass WARP',
  'turn off for a while': 'pause',
  '^only chosen apps$': 'Chosen apps only',
  'everything except DNS': 'All traffic, your own DNS',
  'colo\\b': 'data center',
  'DNS,? by (HTTPS|TLS)': 'encrypted DNS (HTTPS)',
  'figures?\\b': 'statistics',
};
/** Every translated string; `po/update.sh --check` holds that it is complete. */
const TEMPLATE = 'po/culvert.pot';
/** Files that quote others: recordings, data that repeats warp-cli's own words, and this file. */
const QUOTES = /^(test\/fixtures\/|data\/knowledge\/|data\/build\/glossary\.mjs|CHANGELOG\.md|package-lock\.json|po\/)/;
/** A line may quote a word that is not ours. */
const EXEMPT = /glossary: quoted/;

const TEXT = /\.(ts|tsx|mjs|js|md|sh|ui|in|css|toml|c|h|py|xml)$|^culvert-tool$/;
const patternsOf = words =>
  Object.entries(words).map(([word, better]) => ({ pattern: new RegExp(`(?<!\\w)${word}`, 'gi'), better }));
const banned = patternsOf({ ...SPELLINGS, ...WORDS });
const terms = patternsOf(TERMS);

const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
})
  .split('\0')
  .filter(file => TEXT.test(file) && !QUOTES.test(file));
let faults = 0;
for (const file of files) {
  const text = readText(file);
  const lines = text.split('\n');
  for (const { pattern, better } of /\.(ts|tsx|mjs|js)$/.test(file) ? OPENINGS : [])
    for (const { index } of text.matchAll(pattern)) {
      console.error(`${file}:${text.slice(0, index).split('\n').length}: begin with ${better}`);
      faults++;
    }
  for (const [index, line] of lines.entries())
    for (const { pattern, better } of banned)
      for (const match of EXEMPT.test(line) ? [] : line.matchAll(pattern)) {
        console.error(`${file}:${index + 1}:${match.index + 1}: write "${better}" instead of "${match[0]}"`);
        faults++;
      }
}
for (const strings of Object.values(po.parse(readFileSync(TEMPLATE)).translations))
  for (const { msgid, msgid_plural: plural = '', comments } of Object.values(strings))
    for (const { pattern, better } of terms)
      for (const [term] of [msgid, plural].flatMap(text => [...text.matchAll(pattern)])) {
        console.error(`${comments.reference}: write "${better}" instead of "${term}" in "${msgid}"`);
        faults++;
      }
process.exitCode = faults > 0 ? 1 : 0;

/** The text of a file that may have been deleted since it was listed. */
function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
