// Sets the version of the next release, and dates it: node data/release/version.mjs VERSION
// In package.json, the lock file, the changelog and the information for software centers. SOURCE_DATE_EPOCH or today is the date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const HEADING = /^## +(.*?)[ \t]*$/gm;

/**
 * Dates the changes of a version in the changelog: those below "Unreleased", and those below a heading of that version,
 * which are then below one heading.
 * @param {string} text CHANGELOG.md
 * @param {string} version
 * @param {string} date YYYY-MM-DD
 * @returns {string | null} null: the changelog has no changes of this version
 */
export function dateChangelog(text, version, date) {
  const headings = [...text.matchAll(HEADING)].map(({ 0: line, 1: title, index }) => ({ line, title, index }));
  const bodies = headings.map(({ index, line }, at) => text.slice(index + line.length, headings[at + 1]?.index).trim());
  const mine = headings.map(({ title }) => isUnreleased(title) || title.split(/[ ,]/)[0] === version);
  const changes = bodies.filter((body, at) => mine[at] && body !== '');
  if (changes.length === 0) return null;
  const others = headings.flatMap(({ line }, at) => (mine[at] ? [] : `${line}\n\n${bodies[at]}`));
  const before = text.slice(0, headings[0].index).trim();
  return `${[before, `## ${version}, ${date}`, ...changes, ...others].join('\n\n').trim()}\n`;
}

/**
 * The reason why a changelog does not describe a release.
 * @param {string} text CHANGELOG.md
 * @param {string} version
 * @returns {string | null} a sentence, or null when it is fit
 */
export function changelogProblem(text, version) {
  const titles = [...text.matchAll(HEADING)].map(([, title]) => title);
  const own = titles.find(title => title.split(/[ ,]/)[0] === version);
  if (own === undefined) return `CHANGELOG.md says nothing of ${version}.`;
  if (/unreleased/i.test(own)) return `CHANGELOG.md calls ${version} unreleased.`;
  if (titles.some(isUnreleased)) return 'CHANGELOG.md lists changes as unreleased.';
  return null;
}

const isUnreleased = title => /^\[?unreleased\]?$/i.test(title);

/** Numbers as semver has them; those of a pre-release as well. https://semver.org */
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

function setVersion(top, version, date) {
  const at = file => join(top, file);
  const changelog = dateChangelog(readFileSync(at('CHANGELOG.md'), 'utf8'), version, date);
  if (changelog === null) {
    console.error(`CHANGELOG.md has no changes of ${version}. List them below a heading "## Unreleased".`);
    process.exit(1);
  }
  // a file that says it already keeps its time: a newer lock file has npm install everything again
  const write = (file, before, after) => after !== before && writeFileSync(at(file), after);
  const edit = (file, change) => {
    const before = readFileSync(at(file), 'utf8');
    const content = JSON.parse(before);
    change(content);
    write(file, before, `${JSON.stringify(content, null, 2)}\n`);
  };
  edit('package.json', content => {
    content.version = version;
  });
  if (existsSync(at('package-lock.json')))
    edit('package-lock.json', content => {
      content.version = version;
      content.packages[''].version = version;
    });
  writeFileSync(at('CHANGELOG.md'), changelog);
  const metainfo = 'data/org.culvert.Culvert.metainfo.xml.in';
  const before = readFileSync(at(metainfo), 'utf8');
  write(metainfo, before, before.replace(/(<release version="@VERSION@" date=")[^"]*/, `$1${date}`));
}

if (process.argv[1] === import.meta.filename) {
  const top = resolve(import.meta.dirname, '../..');
  const [version, check] = process.argv.slice(2);
  if (!VERSION.test(version ?? '') || (check && check !== '--check')) {
    console.error('Usage: ./culvert-tool version VERSION, such as 1.2.3');
    process.exit(2);
  }
  if (check) {
    const problem = changelogProblem(readFileSync(join(top, 'CHANGELOG.md'), 'utf8'), version);
    if (problem) console.error(problem);
    process.exit(problem ? 1 : 0);
  }
  const { SOURCE_DATE_EPOCH } = process.env;
  const time = SOURCE_DATE_EPOCH ? new Date(Number(SOURCE_DATE_EPOCH) * 1000) : new Date();
  setVersion(top, version, time.toISOString().slice(0, 10));
}
