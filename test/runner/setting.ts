// Runs test files at another time, in another time zone, and in another locale, to find tests that hold today and here only.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const script = join(root, 'test/runner/setting.sh');
/** Locales that this machine has not: they are made here, and the C library looks here first. */
const LOCALES = join(root, 'build/test/locales');
/** Compiled by each run at another date; the file's date is not compared, since a compilation takes a tenth of a second. */
const CLOCK = join(root, 'build/test/clock.so');

export interface Setting {
  /** Time at which each file begins, in milliseconds since 1970; its clock goes on from there. */
  startMs: number | null;
  /** A name of the tz database. */
  zone: string | null;
  /** A name as `LC_ALL` has it. */
  locale: string | null;
}

/**
 * The setting that options name, with its locale made; undefined without any.
 * @throws Error when the options are invalid, or this machine can't do it
 */
export function readSetting(
  options: { date?: string; zone?: string; locale?: string },
  isRoot = process.getuid!() === 0,
): Setting | undefined {
  const { date, zone = null, locale = null } = options;
  if (date === undefined && zone === null && locale === null) return undefined;
  if (zone !== null && !existsSync(join('/usr/share/zoneinfo', zone)))
    throw new Error(`There is no time zone ${zone}. Give a name such as Asia/Kolkata.`);
  if ((date !== undefined || zone !== null) && !isRoot)
    throw new Error('Another date or time zone takes root, since each file gets an /etc of its own.');
  const startMs = date === undefined ? null : timeIn(date, zone);
  if (startMs !== null) compileClock();
  if (locale !== null) makeLocale(locale);
  return { startMs, zone, locale };
}

/** A local time of a zone, in milliseconds since 1970; by `date`, since Node reads one zone in a process. */
export function timeIn(date: string, zone: string | null): number {
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?$/.test(date))
    throw new Error(`--date takes a time such as 2027-02-28T23:59:30, not ${date}.`);
  const env = { ...process.env, ...(zone === null ? {} : { TZ: zone }) };
  return 1000 * Number(execFileSync('date', ['--date', date, '+%s'], { env, encoding: 'utf8' }));
}

/** The command that runs another one in a setting, and its environment. */
export function inSetting(words: readonly string[], setting: Setting | undefined, now = Date.now()) {
  if (!setting) return { words: [...words], env: process.env };
  const { startMs, zone, locale } = setting;
  const env = {
    ...process.env,
    ...(locale === null ? {} : { LANG: locale, LC_ALL: locale, LOCPATH: LOCALES }),
    ...(startMs === null ? {} : { CULVERT_TEST_DATE: new Date(startMs).toISOString() }),
  };
  if (startMs === null && zone === null) return { words: [...words], env };
  // rounded up, because a fast machine would begin a file before the date
  const offset = startMs === null ? 0 : Math.ceil((startMs - now) / 1000);
  return { words: [script, CLOCK, String(offset), zone ?? '', ...words], env };
}

/** Compiles the library that moves a program's clock. */
function compileClock(): void {
  mkdirSync(dirname(CLOCK), { recursive: true });
  const part = `${CLOCK}.${process.pid}`;
  execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', part, join(root, 'test/runner/clock.c')]);
  renameSync(part, CLOCK); // another run may use the earlier one
}

/** Compiles a locale where neither the machine nor an earlier run has it. @throws Error when it is unknown */
function makeLocale(name: string): void {
  const [, language, charset] = /^([a-z]{2,3}_[A-Z]{2})\.([\w-]+)$/.exec(name) ?? [];
  if (!language || !charset) throw new Error(`--locale takes a name such as de_DE.UTF-8, not ${name}.`);
  if (existsSync(join(LOCALES, name))) return;
  mkdirSync(LOCALES, { recursive: true });
  try {
    execFileSync('localedef', ['-i', language, '-f', charset, join(LOCALES, name)], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
  } catch (error) {
    throw new Error(
      `${name} can't be made. Install the package locales, or give another name. ${(error as Error).message}`,
    );
  }
}
