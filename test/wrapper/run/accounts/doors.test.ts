// The table of doors and host variables: no door gives an account's key to a program that the user has led to another host.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Provider } from '../../../../wrapper/catalog/provider.ts';
import { buildWrapper, type RunOptions, type Sandbox, sandbox } from '../../../support/wrapper/sandbox.ts';
import { ELSEWHERE, providers } from '../../../support/wrapper/shipped.ts';

const isScoped = (program: string) => program.startsWith('@');

/** Each door through which a program of an entry runs, and the name of that program. */
const DOORS = {
  shim: {
    programs: ({ bin, programs_only: isForPrograms }: Provider) => (isForPrograms ? [] : [bin]),
    run: (box: Sandbox, _cli: string, program: string, options: RunOptions) => box.shim(program, ['items'], options),
  },
  mcp: {
    programs: ({ mcp }: Provider) => mcp.map(server => server.package),
    // a package with a scope is started by a runner
    run: (box: Sandbox, _cli: string, program: string, options: RunOptions) =>
      box.run(process.execPath, [buildWrapper(), 'mcp', '--', ...(isScoped(program) ? ['npx'] : []), program], options),
  },
  serve: {
    programs: ({ http }: Provider) => (http ? ['program'] : []),
    run: (box: Sandbox, cli: string, program: string, options: RunOptions) =>
      box.wrap(['serve', cli, '--', program], options),
  },
};

for (const [door, { programs, run }] of Object.entries(DOORS)) {
  test(`${door}: with another host of one's own a program runs as it is, with one line, and for a named account without that host`, async t => {
    let tried = 0;
    for (const [cli, provider] of Object.entries(providers)) {
      const key = provider.inject[0]!;
      if (!/^\w+$/.test(key)) continue;
      for (const program of programs(provider)) {
        const box = sandbox(t);
        const shown = [key, ...provider.hosts.env].map(name => `[${name}=$${name}]`).join('');
        box.script(isScoped(program) ? 'npx' : program, `#!/bin/sh\necho "${shown}"\n`);
        if (program !== provider.bin) box.script(provider.bin, '#!/bin/sh\n');
        box.accounts(cli, { a: 'key-a', b: 'key-b' }, key);
        await box.shim(provider.bin, ['items']);
        for (const name of provider.hosts.env) {
          tried++;
          const what = `${cli} ${program} ${name}`;
          const env = { [name]: ELSEWHERE };
          const own = await run(box, cli, program, { env });
          assert.ok(own.stdout.includes(`[${key}=]`), `${what}: ${own.stdout}${own.stderr}`);
          assert.ok(own.stdout.includes(`[${name}=${ELSEWHERE}]`), `${what}: ${own.stdout}`);
          assert.match(
            own.stderr,
            new RegExp(`^culvert-wrap: ${cli}: ${name} may lead to another host [^\n]*\n$`),
            what,
          );
          const { entries } = await box.json('audit');
          const { outcome, why, choice } = entries.at(-1);
          assert.deepEqual([outcome, why, choice], ['original', 'other-host', name], what);
          const named = await run(box, cli, program, { env: { ...env, CULVERT_WRAP_ACCOUNT: 'b' } });
          assert.ok(!named.stdout.includes(ELSEWHERE), `${what}: ${named.stdout}`);
          assert.match(named.stderr, new RegExp(`${name} is not used, because the account "b" is named`), what);
        }
      }
    }
    assert.ok(tried > 3, 'the catalog has such entries');
  });
}

test('mcp install leaves an entry with another host alone, and says so', async t => {
  for (const { mcp, hosts } of Object.values(providers)) {
    for (const server of mcp) {
      for (const name of hosts.env) {
        const box = sandbox(t);
        box.script('culvert-wrap', '#!/bin/sh\n');
        const file = path.join(box.home, '.claude.json');
        const entry = (base: string) => ({ command: 'npx', args: ['-y', server.package], env: { [name]: base } });
        const mcpServers = { other: entry(ELSEWHERE), usual: entry(`https://${hosts.names[0]}`) };
        fs.writeFileSync(file, `${JSON.stringify({ mcpServers }, null, 2)}\n`);
        const { stdout } = await box.wrap(['mcp', 'install', '--yes'], { env: { PATH: `${box.bin}:${box.env.PATH}` } });
        const after = JSON.parse(fs.readFileSync(file, 'utf8')).mcpServers;
        assert.deepEqual(after.other, mcpServers.other, `${server.package} ${name}`);
        assert.notDeepEqual(after.usual, mcpServers.usual, `${server.package} ${name}`);
        assert.match(stdout, new RegExp(`other\n  Not all is changed: its ${name} may lead to another host`), name);
      }
    }
  }
});

test('a gateway around a program is no other host: what runs within it gets its own', async t => {
  const box = sandbox(t);
  box.script('tavily-mcp', '#!/bin/sh\necho "[$TAVILY_API_KEY][$TAVILY_BASE_URL]"\n');
  box.script('tvly', '#!/bin/sh\n');
  box.accounts('tvly', { a: 'tvly-a' }, 'TAVILY_API_KEY');
  const inner = [process.execPath, buildWrapper(), 'mcp', '--', 'tavily-mcp'];
  const { stdout } = await box.wrap(['serve', 'tvly', '--', ...inner]);
  assert.equal(stdout, '[tvly-a][]\n');
});
