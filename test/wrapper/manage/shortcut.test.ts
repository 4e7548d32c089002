// The shell script that runs a tool with its only account, for each shipped entry: it leaves every file and option that may choose another
// host or account to the whole program.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { OwnFile } from '../../../wrapper/catalog/fields.ts';
import { spelled } from '../../../wrapper/run/invocation.ts';
import { type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';
import { providers } from '../../support/wrapper/shipped.ts';

/** Entries with a script: one variable is enough for an account, and nothing has to be prepared. */
const tools = Object.entries(providers).filter(
  ([, { programs_only: isForPrograms, inject, prepare_command: prepare, line_repl: repl }]) =>
    !isForPrograms && inject.length === 1 && /^\w+$/.test(inject[0]!) && !prepare && !repl,
);

/** Decisions of the shim by line of arguments: it starts the original, or leaves the command to the whole program. */
type Door = (cwd: string, lines: readonly string[], env?: Record<string, string>) => string[];

/** Compiles the script of a tool with one account. */
function compiled(box: Sandbox, cli: string): Door {
  const { bin, inject } = providers[cli]!;
  box.script(bin, '#!/bin/sh\n');
  box.accounts(cli, { a: 'key-a' }, inject[0]!);
  box.install(cli);
  // the first run of the whole program creates the log
  fs.writeFileSync(path.join(box.state, 'audit.jsonl'), '', { mode: 0o600 });
  const script = path.join(box.state, `plans/${cli}.sh`);
  const shim = 'for __cw_l; do (set -- items $__cw_l; . "$0"; echo whole); done';
  return (cwd, lines, env = {}) => {
    const all = { ...box.env, ...env, __cw_o: '/bin/echo' };
    const { stdout, stderr } = spawnSync('/bin/sh', ['-c', shim, script, ...lines], {
      cwd,
      env: all,
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    return stdout
      .trim()
      .split('\n')
      .map(line => (line === 'whole' ? line : 'original'));
  };
}

/** Places of a file, and the variables with which it is there: with the default of its path, and with the variable set. */
function placesOf({ file, up }: OwnFile, home: string, cwd: string) {
  const [, variable, fallback, rest = ''] = /^\{(\w+):([^}]*)\}(.*)$/.exec(file) ?? [];
  const inHome = (place: string) => place.replace(/^~/, () => home);
  if (variable !== undefined)
    return [
      { place: inHome(fallback!) + rest, env: {} },
      { place: inHome(fallback!) + rest, env: { [variable]: '' } },
      { place: path.join(home, `an "odd" $place/x${rest}`), env: { [variable]: path.join(home, 'an "odd" $place/x') } },
    ];
  if (file.startsWith('~')) return [{ place: inHome(file), env: {} }];
  const directories = [cwd, path.dirname(cwd), path.join(home, 'above')];
  return directories.slice(0, up === 'none' ? 1 : up === 'repository' ? 2 : 3).map(directory => ({
    place: path.join(directory, file),
    env: {},
  }));
}

test('each file in which a tool may read a host or a credential leaves the command to the whole program', t => {
  let count = 0;
  for (const [cli, { hosts, choice }] of tools) {
    const files = [...hosts.files, ...hosts.env_files, ...choice.files].filter(
      // files of the whole machine; with the option in the path, the option decides
      ({ file }) => !file.startsWith('/') && !/\{[^:}]*\}/.test(file),
    );
    if (files.length === 0) continue;
    const box = sandbox(t);
    const door = compiled(box, cli);
    const cwd = path.join(box.home, 'above/project/inner');
    fs.mkdirSync(cwd, { recursive: true });
    assert.deepEqual(door(cwd, ['']), ['original'], cli);
    for (const each of files) {
      for (const { place, env } of placesOf(each, box.home, cwd)) {
        const what = `${cli} ${each.file} at ${place}`;
        fs.mkdirSync(cwd, { recursive: true });
        fs.mkdirSync(path.dirname(place), { recursive: true });
        fs.writeFileSync(place, '');
        assert.deepEqual(door(cwd, [''], env), ['whole'], what);
        fs.rmSync(place);
        fs.rmSync(path.join(box.home, 'above'), { recursive: true });
        count += 1;
      }
    }
    fs.mkdirSync(cwd, { recursive: true });
    assert.deepEqual(door(cwd, ['']), ['original'], cli);
  }
  assert.ok(count > 40, `${count} places`);
});

/** Every spelling that the whole program takes for an option. */
function spellingsOf(option: string): string[] {
  const [, start, letter, rest] = /^(--?[^-]+)-([a-z])(.*)$/.exec(option) ?? [];
  if (start === undefined) return [option];
  return spellingsOf(`--${letter}${rest}`).flatMap(end => [
    `${start}-${end.slice(2)}`,
    `${start}${letter!.toUpperCase()}${end.slice(3)}`,
  ]);
}

test('each option that may choose leaves the command to the whole program, however it is spelled', t => {
  let camel = 0;
  for (const [cli, provider] of tools) {
    const { hosts, choice } = provider;
    const moving = [...hosts.files, ...hosts.env_files, ...choice.files].flatMap(({ moved_by }) => moved_by);
    const options = [
      ...provider.own_credential,
      ...choice.options,
      ...hosts.options,
      ...hosts.repositories.options,
      ...provider.directory_options,
      ...moving.filter(name => name.startsWith('-')),
    ].map(option => option.split(' ')[0]!);
    if (options.length === 0) continue;
    const box = sandbox(t);
    const door = compiled(box, cli);
    assert.deepEqual(door(box.home, ['--other x --another=x']), ['original'], cli);
    const names = [...new Set(options)].flatMap(option =>
      spellingsOf(option).map(name => {
        assert.equal(spelled(name), spelled(option));
        return name;
      }),
    );
    const lines = names.flatMap(name => [`${name} x`, `${name}=x`]);
    const missed = door(box.home, lines).flatMap((each, index) => (each === 'whole' ? [] : [lines[index]]));
    assert.deepEqual(missed, [], cli);
    camel += names.filter(name => /[A-Z]/.test(name) && name.length > 2).length;
  }
  assert.ok(camel > 10, `${camel} spellings`);
});
