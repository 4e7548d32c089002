// The installed launcher: finds its prefix wherever it is installed and however it is called.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { bundled } from '../../support/daemon/emulator.ts';

const run = promisify(execFile);

describe('bin/culvert-emulator', () => {
  let home: string;
  let env: NodeJS.ProcessEnv;
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'culvert emulator '));
    const prefix = join(home, 'a prefix');
    await mkdir(join(prefix, 'bin'), { recursive: true });
    await mkdir(join(prefix, 'share/culvert/emulator'), { recursive: true });
    await copyFile(bundled(), join(prefix, 'share/culvert/emulator/main.cjs'));
    const launcher = join(prefix, 'bin/culvert-emulator');
    const template = await readFile(resolve(import.meta.dirname, '../../../data/bin/node.in'), 'utf8');
    const text = template.replaceAll('@PROGRAM@', 'emulator').replaceAll('@NODE@', 'node');
    await writeFile(launcher, text, { mode: 0o755 });
    await mkdir(join(home, 'elsewhere'));
    await symlink('../a prefix/bin/culvert-emulator', join(home, 'elsewhere/relative'));
    await symlink(join(home, 'elsewhere/relative'), join(home, 'warp-cli'));
    env = { HOME: home, PATH: `${home}:${process.env.PATH}`, NODE_EXTRA_CA_CERTS: join(home, 'none.pem') };
  });
  after(() => rm(home, { recursive: true, force: true }));

  for (const command of ['a prefix/bin/culvert-emulator', 'elsewhere/relative', 'warp-cli']) {
    it(`runs as "${command}", from anywhere, without the certificates of the environment`, async () => {
      const { stdout, stderr } = await run(join(home, command), ['status'], { env, cwd: '/' });
      assert.deepEqual([stdout, stderr], ['Status update: Disconnected\nReason: Manual Disconnection\n', '']);
    });
  }

  it('runs by its name in PATH and by a relative path', async () => {
    assert.match((await run('warp-cli', ['--version'], { env })).stdout, /^warp-cli 2026\./);
    assert.match((await run('./relative', ['--version'], { env, cwd: join(home, 'elsewhere') })).stdout, /^warp-cli/);
  });

  it('keeps its state under XDG_STATE_HOME, or in the home without it', async () => {
    await run('warp-cli', ['connect'], { env: { ...env, XDG_STATE_HOME: join(home, 'xdg') } });
    const { stdout } = await run('warp-cli', ['status'], { env });
    assert.match(stdout, /Disconnected/);
    const other = await run('warp-cli', ['--emulate', 'show'], { env: { ...env, XDG_STATE_HOME: join(home, 'xdg') } });
    assert.equal(JSON.parse(other.stdout).settings.alwaysOn, true);
  });

  it('runs with the configured Node.js where PATH has none, and with the Node.js of PATH where the configured one is gone', async () => {
    const launcher = await readFile(join(home, 'a prefix/bin/culvert-emulator'), 'utf8');
    const tools = join(home, 'tools');
    await mkdir(tools);
    for (const tool of ['readlink', 'sh']) await symlink(`/bin/${tool}`, join(tools, tool));
    const start = async (node: string, PATH: string) => {
      const file = join(home, 'a prefix/bin/other');
      await writeFile(file, launcher.replace('__cw_n=node\n', `__cw_n=${node}\n`), { mode: 0o755 });
      return (await run(file, ['--version'], { env: { ...env, PATH } })).stdout;
    };
    assert.match(await start(process.execPath, tools), /^warp-cli/);
    assert.match(await start('/gone/bin/node', process.env.PATH!), /^warp-cli/);
    await assert.rejects(start('/gone/bin/node', tools), /node: not found/);
  });

  it('passes every argument on as it is, and the exit code back', async () => {
    await assert.rejects(run('warp-cli', ['mode', "a 'quoted' $HOME *"], { env }), error => {
      const { code, stderr } = error as { code: number; stderr: string };
      return code === 2 && stderr.startsWith("error: invalid value 'a 'quoted' $HOME *' for '<MODE>'");
    });
  });
});
