// The files of an installed tree that desktops, software centers and manuals read, checked by their own validators.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { type TestContext, test } from 'node:test';

const share = resolve('build/prefix/share');

/** Runs a validator over an installed file. It has to be silent, except for appstreamcli, which always prints a summary. */
function valid(t: TestContext, file: string, [command, ...args]: [string, ...string[]]) {
  const path = resolve(share, file);
  if (!existsSync(path)) return t.skip('nothing is built');
  const { error, status, stdout, stderr } = spawnSync(command, [...args, path], { encoding: 'utf8' });
  if (error) return t.skip(`${command} is not installed`);
  assert.equal(status, 0, stdout + stderr);
  if (command !== 'appstreamcli') assert.equal(stderr, '');
}

test('the desktop entry is valid', t =>
  valid(t, 'applications/org.culvert.Culvert.desktop', ['desktop-file-validate']));

test('the metainfo is valid', t =>
  valid(t, 'metainfo/org.culvert.Culvert.metainfo.xml', ['appstreamcli', 'validate', '--no-net']));

const formatted = (t: TestContext, page: string) => valid(t, page, ['groff', '-man', '-Tutf8', '-Kutf8', '-ww', '-z']);

test('every installed program has a manual, which is formatted without a warning', async t => {
  const bin = resolve(share, '../bin');
  if (!existsSync(bin)) return t.skip('nothing is built');
  const programs = readdirSync(bin);
  assert.ok(programs.length >= 4);
  for (const program of programs) {
    const page = `man/man1/${program}.1`;
    assert.ok(existsSync(resolve(share, page)), `${program} has no manual`);
    await t.test(program, t => formatted(t, page));
  }
  // a system-wide build alone installs it
  await t.test('org.culvert.Client1', t => formatted(t, 'man/man5/org.culvert.Client1.5'));
});

test('every manual that is written by hand is formatted without a warning', async t => {
  const pages = readdirSync('data', { recursive: true, encoding: 'utf8' }).filter(file => /\.[1-8]$/.test(file));
  assert.ok(pages.length >= 9);
  for (const page of pages) await t.test(page, t => formatted(t, resolve('data', page)));
});
