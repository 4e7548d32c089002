// `doctor` says which tools are newer than their rules.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';

interface Finding {
  level: string;
  what: string;
  fix?: string;
}

/** Runs doctor, and returns its findings about the version of a tool. */
async function said(box: Sandbox, cli: string): Promise<Finding[]> {
  const { findings }: { findings: Finding[] } = JSON.parse((await box.wrap(['doctor', '--json'])).stdout);
  return findings.filter(({ what }) => what.includes(cli) && /checked|installed|newer/.test(what));
}

/** Puts a tool on PATH that prints this for `--version`. */
const put = (box: Sandbox, cli: string, version: string) => {
  box.script(cli, `#!/bin/sh\n${version}\n`);
  box.install(cli);
};

test('a tool that is newer than its rules is named, with what it was checked with, and when', async t => {
  const box = sandbox(t);
  put(box, 'tvly', 'echo tavily-cli 0.9.0');
  const [finding, ...others] = await said(box, 'tvly');
  assert.deepEqual(others, []);
  assert.equal(finding!.level, 'warning');
  assert.match(finding!.what, /^tvly 0\.9\.0 is newer than its rules, which were checked with 0\.1\.2 on 2026-11-22$/);
  assert.match(finding!.fix!, /catalog update/);
});

test('an older one and the same one are fine, and what is unknown is said to be unknown', async t => {
  for (const [version, level, words] of [
    ['echo 0.1.2', 'ok', /^tvly 0\.1\.2: its rules were checked with 0\.1\.2/],
    ['echo v0.0.9', 'ok', /^tvly 0\.0\.9: its rules/],
    ['echo hello', 'ok', /^which version of tvly is installed is unknown$/],
    ['exit 3', 'ok', /^which version of tvly is installed is unknown$/],
  ] as const) {
    const box = sandbox(t);
    put(box, 'tvly', version);
    const [finding] = await said(box, 'tvly');
    assert.equal(finding?.level, level, version);
    assert.match(finding.what, words);
  }
  const box = sandbox(t);
  put(box, 'railway', 'echo 9.9.9');
  assert.match(
    (await said(box, 'railway'))[0]!.what,
    /^with which version of railway its rules were checked is unknown$/,
  );
});

test('the version of an npm package is read, and the tool is not started', async t => {
  const box = sandbox(t);
  const modules = path.join(box.home, 'lib/node_modules/firecrawl-cli');
  fs.mkdirSync(path.join(modules, 'dist'), { recursive: true });
  fs.writeFileSync(path.join(modules, 'package.json'), '{"name":"firecrawl-cli","version":"9.1.0"}');
  fs.writeFileSync(path.join(modules, 'dist/index.js'), `#!/bin/sh\ntouch "${box.home}/started"\n`, { mode: 0o755 });
  fs.symlinkSync(path.join(modules, 'dist/index.js'), path.join(box.bin, 'firecrawl'));
  box.install('firecrawl');
  assert.match((await said(box, 'firecrawl'))[0]!.what, /^firecrawl 9\.1\.0 is newer/);
  assert.ok(!fs.existsSync(path.join(box.home, 'started')));
});

test("an entry of the user's own is not asked for its version", async t => {
  const box = sandbox(t);
  box.script('fake', `#!/bin/sh\ntouch "${box.home}/started"\n`);
  box.provider('fake', 'inject = ["FAKE_KEY"]');
  box.install('fake');
  assert.deepEqual(await said(box, 'fake'), []);
  assert.ok(!fs.existsSync(path.join(box.home, 'started')));
});
