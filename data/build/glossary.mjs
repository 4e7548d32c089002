// Checks the words of code, comments and documents: node data/build/glossary.mjs. Words are added as the tree becomes free of
// them, so that it passes at all times.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';

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
  '/nonexistent\\b': 'a place that cannot exist: it is the home of a user of Debian',
};
/** Words of translated English, in comments and titles of tests -> what a reader expects. Quoted words don't count. */
const TRANSLATED = {
  '(any|every|no|some)body\\b': 'someone, or the user, program or process that is meant',
  'at once\\b': 'immediately, or in parallel',
  'beside\\b': 'next to',
  'by itself\\b': 'automatically',
  '(?<!\\bthere )(is|are|was|were) none\\b': 'is invalid, or is not one',
  'where there (is|are|was|were) none\\b': 'if there is none',
  '(knows?|known) of\\b': 'know about, or a noun',
  'look(s|ed|ing)? at\\b': 'read, check or inspect',
  'of (its|their) own\\b(?! \\w)': 'its own …, or separate',
  'of the moment\\b': 'present, or current',
  'the (one|ones) (before|that)\\b': 'the noun that is meant',
  '(?<=[a-z] )(has|have|had) gone\\b': 'ended, left or is missing',
  '(?<=[a-z] )meanwhile\\b(?!\\s{1,9}\\w)': 'in the meantime, or the event that is meant',
  'mend(s|ed|ing)?\\b': 'fix or repair',
  '(take[ns]?|taking|took) (\\w+ ){0,2}back\\b': 'revert or undo',
  'told\\b': 'reported, or passed to',
};
/** Start of a comment, but not its further lines, or of the title of a test or a suite. */
const START = String.raw`(?:/\*\*?\s+(?:\* )?|(?<!^\s*//.*\n\s*)// |\b(?:test|it|describe)(?:\.\w+)?\(\s*['"\`])`;
/** Openings of comments and titles that make a reader look for the subject. */
const OPENINGS = [
  ['of', 'a noun, such as "Path of the file"'],
  ['what|who|whoever|whatever|which|where|how', 'a noun, such as "Options of a fetch"'],
  ['whether(?! to)', '"True if"'],
].map(([words, better]) => ({ pattern: new RegExp(`${START}(?:${words})\\b(?!.*\\?)`, 'gim'), better }));
/** Terms that sentences for users do not use, from the table in CONTRIBUTING.md -> the usual ones. */
const TERMS = {
  'go(es)? (out )?directly': 'bypass WARP',
  'go(es)? (around|outside) the tunnel': 'bypass WARP',
  '(turn(s|ed|ing)?|switch(es|ed|ing)?) off for a while': 'pause',
  '(resting|cool(ing|s)? ?down)\\b': 'paused',
  '^only chosen apps$': 'Chosen apps only',
  'everything except DNS': 'All traffic, your own DNS',
  'colo\\b': 'data center',
  'DNS,? by (HTTPS|TLS)': 'encrypted DNS (HTTPS)',
  'figures?\\b': 'statistics',
  '(take[ns]?|taking) (it |them |that |this |(a|the) change )?back': 'revert or undo',
  'set(s|ting)? back': 'revert',
  'decides? about': 'manages',
  'exists? already': 'already exists',
  'exclude each other': "can't be used together",
  'all the same\\b(?! \\w)': 'anyway',
};
/** Files that quote others: recordings, data that repeats warp-cli's own words, and this file. */
const QUOTES = /^(test\/fixtures\/|data\/knowledge\/|data\/build\/glossary\.mjs|CHANGELOG\.md|package-lock\.json|po\/)/;
/** A line may quote a word that is not ours, and the table of terms lists those that are banned. */
const EXEMPT = /glossary: quoted|^ {2}\| .* \|$/;
/** Code with sentences for users; in a test a sentence is a title. */
const SOURCES = /^(daemon|gnome|wrapper|manifest)\/.*\.tsx?$/;
/** Code that repeats the words of warp-cli. */
const VENDOR = /^daemon\/(emulator|warp\/parse)\//;
/** Documents, manual pages, notes of the catalog and what desktops show: each line is for users. */
const PROSE =
  /^(?!test\/).*\.(md|[1-8]|ui|policy|html)$|\.(desktop|xml)\.in$|^data\/deb\/control$|^wrapper\/catalog\/.*\.toml$/;

/** Modules, each with a header. */
const MODULES = /^(daemon|gnome|wrapper|manifest|data|test)\/.*\.(ts|tsx|mjs)$/;

const TEXT =
  /\.(ts|tsx|mjs|js|md|sh|ui|in|css|toml|c|h|py|xml|[1-8]|policy|html|yml|spec)$|^culvert-tool$|^data\/deb\/control$/;
const patternsOf = words =>
  Object.entries(words).map(([word, better]) => ({
    pattern: new RegExp(`(?<!\\w)${word.replaceAll(' ', '\\s+')}`, 'gi'),
    better,
  }));
const banned = patternsOf({ ...SPELLINGS, ...WORDS });
const translated = patternsOf(TRANSLATED);
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
  if (MODULES.test(file) && !/^(#!.*\n)?\/[/*]/.test(text)) {
    console.error(`${file}:1: begin with a comment that says what the module does`);
    faults++;
  }
  for (const { pattern, better } of /\.(ts|tsx|mjs|js)$/.test(file) ? OPENINGS : [])
    for (const { index } of text.matchAll(pattern)) {
      console.error(`${file}:${lineAt(text, index)}: begin with ${better}`);
      faults++;
    }
  const remarks = /\.(ts|tsx|mjs|js)$/.test(file) ? remarksOf(file, text) : '';
  for (const { pattern, better } of translated)
    for (const { index, 0: words } of remarks.matchAll(pattern)) {
      console.error(`${file}:${lineAt(text, index)}: write "${better}" instead of "${words.replaceAll(/\s+/g, ' ')}"`);
      faults++;
    }
  for (const [index, line] of lines.entries())
    for (const { pattern, better } of banned)
      for (const match of EXEMPT.test(line) ? [] : line.matchAll(pattern)) {
        console.error(`${file}:${index + 1}:${match.index + 1}: write "${better}" instead of "${match[0]}"`);
        faults++;
      }
  for (const { text: sentence, line } of sentencesOf(file, text, lines))
    for (const { pattern, better } of terms)
      for (const [term] of EXEMPT.test(lines[line - 1]) ? [] : sentence.matchAll(pattern)) {
        console.error(`${file}:${line}: write "${better}" instead of "${term}" in "${sentence.trim().slice(0, 120)}"`);
        faults++;
      }
}
process.exitCode = faults > 0 ? 1 : 0;

/** Texts of a file for users: strings of more than a word, or every line of a document. */
function sentencesOf(file, text, lines) {
  if (PROSE.test(file)) return lines.map((line, index) => ({ text: line, line: index + 1 }));
  if (!SOURCES.test(file) || VENDOR.test(file)) return [];
  const sentences = [];
  const add = (value, start) => {
    if (/\w \w/.test(value)) sentences.push({ text: value, line: lineAt(text, start) });
  };
  new Visitor({
    Literal: ({ value, start }) => typeof value === 'string' && add(value, start),
    TemplateElement: ({ value, start }) => add(value.cooked ?? '', start),
    JSXText: ({ value, start }) => add(value, start),
  }).visit(parseSync(file, text).program);
  return sentences;
}

/** Comments and titles of tests, at their places; the rest of the text, and what they quote, is blank. */
function remarksOf(file, text) {
  const titles = [...text.matchAll(/\b(?:test|it|describe)(?:\.\w+)?\(\s*(['"`])(.+?)\1/dg)].map(({ indices }) => ({
    start: indices[2][0],
    end: indices[2][1],
  }));
  const remarks = [...parseSync(file, text).comments, ...titles].sort((a, b) => a.start - b.start);
  const blank = part => part.replaceAll(/[^\n]/g, ' ');
  const decoration = /`[^`]*`|"[^"]*"|^\s*(?:\*|\/\/)/gm;
  let at = 0;
  let result = '';
  for (const { start, end } of remarks) {
    if (start < at) continue; // a title in a comment
    result += blank(text.slice(at, start)) + text.slice(start, end).replaceAll(decoration, blank);
    at = end;
  }
  return result;
}

function lineAt(text, offset) {
  return text.slice(0, offset).split('\n').length;
}

/** The text of a file that may have been deleted since it was listed. */
function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
