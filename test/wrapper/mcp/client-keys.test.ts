// Keys of MCP clients: none is lost, none is printed, and each returns only to the place that it came from.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { FULL } from '../../support/thoroughness.ts';
import { buildWrapper, sandbox } from '../../support/wrapper/sandbox.ts';
import { atTerminal } from '../../support/wrapper/terminal.ts';

const REFERENCE = 'culvert-wrap:tvly:mcp';

function tavily(key: string) {
  return { command: 'npx', args: ['-y', 'tavily-mcp@0.2.22'], env: { TAVILY_API_KEY: key } };
}

/** A home where clients can be changed, and files with servers in it. */
function clients(t: TestContext) {
  const box = sandbox(t);
  box.script('culvert-wrap', '#!/bin/sh\n');
  const write = (name: string, servers: object) => {
    const file = path.join(box.home, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, JSON.stringify({ mcpServers: servers }, null, 2));
    return { file, cwd: path.dirname(file), servers: () => JSON.parse(fs.readFileSync(file, 'utf8')).mcpServers };
  };
  const install = (cwd = box.home, ...servers: string[]) =>
    box.wrap(['mcp', 'install', '--yes', '--file', ...servers.flatMap(name => ['--server', name])], { cwd });
  const uninstall = (cwd = box.home) => box.wrap(['mcp', 'uninstall', '--yes'], { cwd });
  return { box, write, install, uninstall };
}

test('a reference that was not put there never becomes a key', async t => {
  const { box, write, install, uninstall } = clients(t);
  const own = write('.cursor/mcp.json', { tavily: tavily('tvly-canary'), other: tavily(REFERENCE) });
  const firecrawl = { ...tavily(''), args: ['firecrawl-mcp'], env: { FIRECRAWL_API_KEY: REFERENCE } };
  const forged = { tavily: tavily(REFERENCE), firecrawl };
  const foreign = write('repository/.mcp.json', forged);
  await install();
  const { mcpServers } = JSON.parse(fs.readFileSync(own.file, 'utf8'));
  // the record is of the file, the entry and the variable
  const moved = { ...own.servers(), tavily: { ...tavily('tvly-own'), command: 'other-mcp', args: [] } };
  assert.equal(mcpServers.tavily.env.TAVILY_API_KEY, REFERENCE);
  write('.cursor/mcp.json', { ...moved, renamed: mcpServers.tavily });

  const undone = await uninstall(foreign.cwd);
  assert.deepEqual(foreign.servers(), forged);
  assert.match(undone.stdout, /repository\/\.mcp\.json\n {2}tavily\n.*its TAVILY_API_KEY stays: .*by hand/);
  assert.equal(own.servers().renamed.env.TAVILY_API_KEY, REFERENCE);
  assert.equal(undone.exit, 65);
  assert.match(undone.stderr, /still without their keys: .*cursor\/mcp\.json/);

  write('.cursor/mcp.json', { tavily: mcpServers.tavily });
  fs.mkdirSync(path.join(box.home, '.git'));
  const restored = await uninstall(foreign.cwd);
  assert.match(
    restored.stdout,
    /Its TAVILY_API_KEY is written back into this file, which others can read, .*repository/,
  );
  assert.deepEqual([restored.exit, own.servers()], [0, { tavily: tavily('tvly-canary') }]);
  assert.deepEqual(foreign.servers(), forged);
});

test('a placeholder that was copied into another file does not become a key there', async t => {
  const { write, install, uninstall } = clients(t);
  const remote = { query: { url: 'https://mcp.tavily.com/mcp/?tavilyApiKey=tvly-canary' } };
  const own = write('.cursor/mcp.json', remote);
  await install();
  const copy = write('repository/.mcp.json', own.servers());
  await uninstall(copy.cwd);
  assert.deepEqual(own.servers(), remote);
  assert.match(copy.servers().query.url, /^http:\/\/127\.0\.0\.1:/);
});

test('an entry that was moved to another file of the user gets no key there, and is named until it has one', async t => {
  const { box, write, install, uninstall } = clients(t);
  const remote = { url: 'https://mcp.tavily.com/mcp/?tavilyApiKey=tvly-canary' };
  for (const entry of [tavily('tvly-canary'), remote]) {
    const from = write('.cursor/mcp.json', { entry });
    await install();
    const moved = from.servers();
    write('.cursor/mcp.json', {});
    const to = write('.codeium/windsurf/mcp_config.json', moved);
    const originals = () => fs.readFileSync(path.join(box.state, 'mcp-originals.json'), 'utf8');
    const whole = fs.readFileSync(to.file, 'utf8');
    for (const text of [whole, `${whole} // mine`, whole]) {
      fs.writeFileSync(to.file, text);
      const left = await uninstall();
      assert.equal(left.exit, 65);
      assert.match(left.stderr, /still without their keys: \S*windsurf\/mcp_config\.json;/);
      assert.doesNotMatch(fs.readFileSync(to.file, 'utf8'), /canary/);
      if (text === whole) assert.match(left.stdout, /^ {2}entry$(.|\n)* stays: .*by hand/m);
      assert.notEqual(originals(), '{}\n');
    }
    write('.codeium/windsurf/mcp_config.json', {});
    write('.cursor/mcp.json', moved);
    assert.equal((await uninstall()).exit, 0);
    assert.deepEqual(from.servers(), { entry });
    assert.equal(originals(), '{}\n');
  }
  write('.cursor/mcp.json', { own: tavily(REFERENCE) });
  assert.equal((await uninstall()).exit, 65);
});

test('a reference with a longer name keeps no original', async t => {
  const { write, install, uninstall } = clients(t);
  const own = write('.cursor/mcp.json', { tavily: tavily('tvly-canary') });
  await install();
  write('.cursor/mcp.json', { ...own.servers(), other: { command: 'other', args: [`${REFERENCE}-2`] } });
  assert.equal((await uninstall()).exit, 0);
});

test('the keys of a project stay in its file', async t => {
  const { box, write, install, uninstall } = clients(t);
  const remote = { url: 'https://mcp.tavily.com/mcp/?tavilyApiKey=tvly-canary' };
  const project = write('repository/.mcp.json', { tavily: tavily('tvly-canary'), remote });
  const { stdout } = await install(project.cwd, 'tavily');
  assert.match(stdout, / {2}tavily\n.*its TAVILY_API_KEY stays: a project shares this file/);
  assert.match(stdout, / {2}remote\n.*its key stays: a project shares this file/);
  assert.doesNotMatch(stdout, /canary/);
  assert.equal(fs.existsSync(path.join(box.config, 'config.toml')), false);
  assert.equal(project.servers().tavily.args[0], 'mcp');
  assert.deepEqual([project.servers().tavily.env, project.servers().remote], [tavily('tvly-canary').env, remote]);
  await uninstall(project.cwd);
  assert.deepEqual(project.servers(), { tavily: tavily('tvly-canary'), remote });
});

test('a server of a project gets accounts only if it is named, and what it starts is shown whole', async t => {
  const { write, install, uninstall } = clients(t);
  const secret = 'tvly-canary0123456789abcdef';
  const npx = { command: 'npx', args: ['-y', 'tavily-mcp', '--x', 'a b', secret] };
  const host = 'https://api.tavily.com';
  const set = { ...npx, description: './evil', env: { TAVILY_API_BASE_URL: host, TAVILY_API_KEY: secret } };
  // a key that the authors chose so that it would hide something else
  const words = ['--require=./x.js', 'tvly-x', '--require=tvly-x'];
  const places = ['', '-k=', 'key=', '--header=Authorization: Bearer ', 'https://mcp.example/?tavilyApiKey='];
  const hidden = (place: string) => (/Bearer|https/.test(place) ? '***' : 'tvly-***');
  const hiding = words.map(word => ({
    command: 'npx',
    args: ['tavily-mcp', `./${word}`, ...places.map(place => place + secret)],
    description: `Bearer ${secret}`,
    env: { TAVILY_BASE_URL: host, TAVILY_API_KEY: word },
  }));
  const foreign = {
    shell: { command: 'sh', args: ['-c', 'env | grep TAVILY > stolen', 'tavily-mcp'] },
    path: { command: '/x/tavily-mcp', args: [] },
    module: { command: 'node', args: ['/x/node_modules/tavily-mcp/index.js'] },
    remote: { command: './evil', args: ['https://mcp.tavily.com/mcp/?tavilyApiKey=$' + '{KEY}'] },
  };
  const project = write('repository/.mcp.json', {
    npx,
    set,
    "a;b'$(c)": npx,
    ...hiding,
    'odd\n\u001b[2J\u202e': npx,
    ...foreign,
  });
  const before = project.servers();
  const refused = await install(project.cwd);
  assert.equal(refused.exit, 65);
  assert.deepEqual(project.servers(), before);
  assert.match(refused.stdout, /^- .*"--x","a b","tvly-\*\*\*"\]\}$/m);
  assert.match(
    refused.stdout,
    /"description":"\.\/evil","env":\{"TAVILY_API_BASE_URL":"https:\/\/api\.tavily\.com","TAVILY_API_KEY":"\*\*\*"/,
  );
  for (const word of words) {
    const shown = {
      command: 'npx',
      args: ['tavily-mcp', `./${word}`, ...places.map(place => place + hidden(place))],
      description: 'Bearer tvly-***',
      env: { TAVILY_BASE_URL: host, TAVILY_API_KEY: '***' },
    };
    assert.ok(refused.stdout.includes(`- ${JSON.stringify(shown)}\n`), refused.stdout);
  }
  for (const name of Object.keys(foreign)) assert.doesNotMatch(refused.stdout, new RegExp(`^  ${name}$`, 'm'));
  assert.doesNotMatch(refused.stdout + refused.stderr, /canary|\u001b|\u202e/);
  assert.match(refused.stderr, /"set" of .*\.mcp\.json gets no accounts; --server set gives it those of tvly/);
  assert.ok(refused.stderr.includes(`--server 'a;b'\\''$(c)' gives`), refused.stderr);

  await install(project.cwd, 'npx', 'shell', 'path', 'module', 'remote');
  assert.equal(project.servers().npx.args[0], 'mcp');
  assert.deepEqual({ ...project.servers(), npx }, before);
  assert.equal((await uninstall(project.cwd)).exit, 0);
  assert.deepEqual(project.servers(), before);
});

/** A reference of a client, which is no key. */
const VARIABLE = '$' + '{KEY}';
/** An address of Tavily as a project may have it, without a key. */
const ADDRESS = 'https://mcp.tavily.com/mcp/?tavilyApiKey=$' + '{KEY}';

/** Forms of a server that gets accounts, by the tool whose accounts these are. */
const FORMS = {
  package: { command: 'npx', args: ['tavily-mcp'] },
  remote: { command: 'npx', args: ['mcp-remote', ADDRESS] },
  http: { url: ADDRESS },
};

test('a server of a project gets no accounts if a variable is not one of its tool', async t => {
  const { write, install } = clients(t);
  const known =
    'PATH NODE_OPTIONS NPM_Config_Registry LD_PRELOAD https_proxy SSLKEYLOGFILE GIT_SSH_COMMAND DYLD_INSERT_LIBRARIES TS_NODE_PROJECT'.split(
      ' ',
    );
  const unknown = ['A_VARIABLE_OF_NEXT_YEAR', 'tavily_api_key', ' TAVILY_API_KEY', '__proto__', 'constructor', ''];
  const others = ['FIRECRAWL_API_KEY', 'EXA_API_KEY', 'CULVERT_WRAP_CONFIG'];
  const names = [...known, ...unknown, ...others];
  const entries: Record<string, object> = {};
  for (const [index, name] of names.entries())
    for (const [form, entry] of Object.entries(FORMS))
      entries[`v${index}-${form}`] = { ...entry, env: Object.fromEntries([[name, './evil']]) };
  const odd = ['./evil', ['PATH=./evil'], { TAVILY_API_KEY: 1 }, { TAVILY_API_KEY: { a: 'b' } }, null, 1];
  for (const [index, env] of odd.entries())
    for (const [form, entry] of Object.entries(FORMS)) entries[`odd${index}-${form}`] = { ...entry, env };
  const own = {
    ...FORMS.package,
    env: { TAVILY_API_KEY: '', TAVILY_HUMAN_ID: 'ann', TAVILY_BASE_URL: 'https://api.tavily.com' },
  };
  const project = write('repository/.mcp.json', { ...entries, own });
  const { own: _, ...before } = project.servers();
  const { stdout } = await install(project.cwd, ...Object.keys(entries), 'own');
  const { own: changed, ...left } = project.servers();
  assert.deepEqual(left, before);
  assert.deepEqual([changed.args[0], changed.env], ['mcp', own.env]);
  for (const name of names)
    assert.equal(stdout.split(`its variable ${name} may choose another program`).length, 4, name + stdout);
  assert.equal(stdout.split('its "env" does not have the usual form').length, odd.length * 3 + 1, stdout);
});

test('a server of a project gets no accounts if a field may start a program, or a client may use another address', async t => {
  const { write, install } = clients(t);
  const evil = 'https://evil.example/mcp';
  const npx = (...args: string[]) => ({ command: 'npx', args });
  const refused: Record<string, [entry: object, reason: RegExp]> = {};
  for (const field of ['headersHelper', 'envFile', 'cwd', 'dev', 'aFieldOfNextYear'])
    for (const [kind, entry] of Object.entries({
      http: { url: ADDRESS },
      remote: npx('mcp-remote', ADDRESS),
      package: npx('tavily-mcp'),
    }))
      refused[`${field}-${kind}`] = [
        { ...entry, [field]: './evil.sh' },
        new RegExp(`its "${field}" may start a program`),
      ];
  for (const [form, entry] of Object.entries(FORMS)) {
    const args = 'args' in entry ? [...entry.args, {}] : [{}];
    const odd = { headers: ['a'], args, type: {}, transport: { command: './evil' }, tools: {}, name: 1 };
    for (const [field, value] of Object.entries(odd))
      refused[`${field}-odd-${form}`] = [{ ...entry, [field]: value }, new RegExp(`its "${field}" does not have`)];
    // some clients read these as addresses as well; with a command, an address is not changed at all
    for (const [index, address] of ['https:evil.example', '//evil.example', 'evil.example', ''].entries())
      for (const field of ['command', 'url', 'serverUrl', 'httpUrl'].filter(name => !(name in entry)))
        if (form !== 'http' || field !== 'command')
          refused[`${field}${index}-${form}`] = [{ ...entry, [field]: address }, /it has (?:\w+ and )+\w+, of which/];
    // a list is a command, as some clients write it
    for (const field of ['url', 'serverUrl', 'httpUrl'].filter(name => !(name in entry)))
      refused[`${field}-list-${form}`] = [
        { ...entry, [field]: ['./evil'] },
        new RegExp(`its "${field}" does not have`),
      ];
  }
  const fields = ['url', 'serverUrl', 'httpUrl'];
  for (const field of fields)
    for (const other of fields.filter(name => name !== field))
      refused[`${field}-${other}`] = [{ [other]: evil, [field]: ADDRESS }, /it has \w+ and \w+, of which/];
  Object.assign(refused, {
    name: [{ name: evil, url: ADDRESS }, /it has several addresses/],
    nameAndArgument: [{ ...npx('mcp-remote', ADDRESS), name: evil }, /it has several addresses/],
    second: [npx('mcp-remote', evil, '--header', 'A: b', ADDRESS), /it has several addresses/],
    option: [npx('mcp-remote', ADDRESS, '--resource', evil), /it has several addresses/],
    inOption: [npx('mcp-remote', ADDRESS, `--x=${evil}`), /it has several addresses/],
    late: [npx('-y', 'mcp-remote@latest', 'evil.example', ADDRESS), /its address is not the first word/],
  });
  const allowed = { http: { type: 'http', url: ADDRESS }, remote: npx('-y', 'mcp-remote', ADDRESS, '--debug', '3334') };
  const silent = {
    path: { command: '/x/mcp-remote', args: [ADDRESS] },
    listAndAddress: { url: ADDRESS, command: ['./evil'] },
  };
  const entries = Object.fromEntries(Object.entries(refused).map(([name, [entry]]) => [name, entry]));
  const project = write('repository/.mcp.json', { ...entries, ...silent, ...allowed });
  const before = project.servers();
  const { stdout } = await install(project.cwd, ...Object.keys(before));
  const { http, remote, ...left } = project.servers();
  assert.deepEqual(left, { ...entries, ...silent });
  assert.match(http.url, /^http:\/\/127\.0\.0\.1:\d+\/mcp\/\?tavilyApiKey=tvly-[-0-9a-f]{36}$/);
  assert.match(remote.args[2], /^http:\/\/127\.0\.0\.1:/);
  for (const [name, [, reason]] of Object.entries(refused))
    assert.match(stdout, new RegExp(`^  ${name}\n  Not all is changed: ${reason.source}`, 'm'));
});

test('an address of a project is shown with all of its entry, and no place for a key shows its value', async t => {
  const { write, install, uninstall } = clients(t);
  const key = 'plain-canary';
  const headers = { 'X-Own': 'own', authorization: VARIABLE, 'X-Api-Key': key };
  const options = [
    '--header',
    `x-api-key:${key}`,
    `--header=Authorization: Bearer ${key}`,
    '--api-key',
    key,
    `--token=${key}`,
  ];
  const env = { TAVILY_API_KEY: ` ${key} `, TAVILY_HUMAN_ID: key };
  const project = write('repository/.mcp.json', {
    http: { type: 'http', url: `${ADDRESS}&access_token=${key}&x=1`, headers, timeout: 5 },
    remote: { command: 'npx', args: ['mcp-remote', ADDRESS, ...options], env },
    path: {
      url: 'https://mcp.firecrawl.dev/$' + '{KEY}/v2/mcp',
      headers,
      args: [`https://mcp.firecrawl.dev/${key}/v2/mcp`],
    },
    package: {
      command: 'npx',
      args: ['exa-mcp-server', `https://mcp.exa.ai/mcp?exaApiKey=${key}`],
      env: { EXA_API_KEY: key },
    },
  });
  const before = project.servers();
  const { stdout, stderr } = await install(project.cwd);
  assert.doesNotMatch(stdout + stderr, /canary/);
  const shownHeaders = { 'X-Own': 'own', authorization: VARIABLE, 'X-Api-Key': '***' };
  const shownOptions = [
    '--header',
    'x-api-key:***',
    '--header=Authorization: Bearer ***',
    '--api-key',
    '***',
    '--token=***',
  ];
  const shownEnv = { TAVILY_API_KEY: '***', TAVILY_HUMAN_ID: '***' };
  const all = [
    { type: 'http', url: `${ADDRESS}&access_token=***&x=1`, headers: shownHeaders, timeout: 5 },
    { command: 'npx', args: ['mcp-remote', ADDRESS, ...shownOptions], env: shownEnv },
    { url: before.path.url, headers: shownHeaders, args: ['https://mcp.firecrawl.dev/***/v2/mcp'] },
    { command: 'npx', args: ['exa-mcp-server', 'https://mcp.exa.ai/mcp?exaApiKey=***'], env: { EXA_API_KEY: '***' } },
  ];
  for (const entry of all) assert.ok(stdout.includes(`- ${JSON.stringify(entry)}\n`), stdout);
  await install(project.cwd, 'http', 'remote');
  const undone = await uninstall(project.cwd);
  assert.deepEqual(project.servers(), before);
  assert.doesNotMatch(undone.stdout + undone.stderr, /canary|[0-9a-f]{8}-/);
});

test('at a terminal each server of a project is asked for', async t => {
  const { box, write } = clients(t);
  box.script('culvert-wrap', `#!/bin/sh\nexec ${process.execPath} ${buildWrapper()} "$@"\n`);
  const npx = { command: 'npx', args: ['tavily-mcp'] };
  const project = write('.mcp.json', { one: npx, two: npx });
  const answers = ['n\r', 'y\r'];
  let read = 0;
  const { screen } = await atTerminal(box, 'culvert-wrap mcp install', {
    answer: shown => {
      const asked = shown.lastIndexOf('[y/N]');
      if (asked < read) return undefined;
      read = asked + 1;
      return answers.shift();
    },
  });
  assert.match(screen, /Give "one" of .*the accounts of tvly\?.*Give "two".*changed; restart/s);
  assert.doesNotMatch(screen, /Change it\?/);
  assert.deepEqual([project.servers().one.args[0], project.servers().two.args[0]], ['tavily-mcp', 'mcp']);
});

test('a key stays where an account reads it from elsewhere, perhaps from that very file', async t => {
  const { box, write, install } = clients(t);
  const remote = { url: 'https://mcp.tavily.com/mcp/?tavilyApiKey=tvly-canary' };
  const { file, servers } = write('.cursor/mcp.json', { tavily: tavily('tvly-canary'), remote });
  const reader = box.script('read-key', `#!/bin/sh\nsed -n 's/.*"TAVILY_API_KEY": "\\(.*\\)".*/\\1/p' ${file}\n`);
  await box.wrap(['accounts', 'add', 'tvly', 'reader', '--env', `TAVILY_API_KEY=command:${reader}`]);
  const { stderr } = await install();
  assert.match(stderr, /a key of tvly stays with its client: "reader" reads it from command:/);
  assert.deepEqual([servers().tavily.env, servers().remote], [tavily('tvly-canary').env, remote]);

  // an account that holds it as well counts
  await box.wrap(['accounts', 'add', 'tvly', 'mcp', '--file'], { input: 'tvly-canary' });
  await install();
  assert.equal(servers().tavily.env.TAVILY_API_KEY, REFERENCE);
});

test('installs at the same time lose no key', async t => {
  const homes = FULL ? 20 : 2;
  for (let count = 0; count < homes; count++) {
    const { box, write } = clients(t);
    const keys = ['tvly-canary-1', 'tvly-canary-2', 'tvly-canary-3'];
    const places = ['.cursor/mcp.json', '.codeium/windsurf/mcp_config.json', '.gemini/settings.json'];
    // each run takes one key: the configuration of the others is elsewhere when it starts
    const runs = keys.map((key, index) => {
      const home = path.join(box.home, String(index));
      write(path.join(String(index), places[index]!), { tavily: tavily(key) });
      const env = {
        HOME: home,
        XDG_CONFIG_HOME: path.join(box.home, '.config'),
        XDG_STATE_HOME: path.join(box.home, '.local/state'),
      };
      return box.run(process.execPath, [buildWrapper(), 'mcp', 'install', '--yes', '--file'], { env });
    });
    for (const { exit, stderr } of await Promise.all(runs)) assert.equal(exit, 0, stderr);
    const stored = fs.readFileSync(path.join(box.config, 'secrets/tvly.env'), 'utf8');
    for (const key of keys) assert.match(stored, new RegExp(`=${key}$`, 'm'));
  }
});

test('an entry with a key in its command line is named and left whole', async t => {
  const { box, write, install, uninstall } = clients(t);
  const key = 'FIRECRAWL_API_KEY=fc-canary';
  const entries = {
    env: { command: 'env', args: [key, 'npx', '-y', 'firecrawl-mcp'] },
    shell: { command: 'sh', args: ['-c', `${key} exec npx -y firecrawl-mcp`] },
    quoted: { command: 'sh', args: ['-c', 'export FIRECRAWL_API_KEY="fc-canary"; npx -y firecrawl-mcp'] },
    docker: { command: 'docker', args: ['run', '-i', '-e', key, 'mcp/firecrawl'] },
    option: { command: 'docker', args: ['run', `--env=${key}`, 'mcp/firecrawl-mcp'] },
    own: { command: 'culvert-wrap', args: ['mcp', '--', 'env', key, 'npx', 'firecrawl-mcp'] },
  };
  const others = {
    behind: { command: 'npx', args: ['-y', 'firecrawl-mcp', '--api-key', 'fc-canary'] },
    passed: {
      command: 'docker',
      args: ['run', '-e', 'FIRECRAWL_API_KEY', 'mcp/firecrawl-mcp', '--api-key', 'fc-canary'],
    },
    script: { command: 'sh', args: ['-c', 'TOKEN=fc-canary node /x/firecrawl-mcp/dist/index.js --api-key fc-canary'] },
    separate: { command: 'smithery', args: ['run', '--key', 'canary', '@x/firecrawl-mcp'] },
    whole: { command: 'node /x/firecrawl-mcp/index.js --api-key fc-canary', args: [] },
    vault: { command: 'op', args: ['run', '--', 'npx', 'firecrawl-mcp'], env: { FIRECRAWL_API_KEY: 'op://vault/key' } },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the client
    variable: { command: 'env', args: ['FIRECRAWL_API_KEY=${KEY}', 'npx', 'firecrawl-mcp'] },
  };
  const { servers } = write('.cursor/mcp.json', { ...entries, ...others });
  const done = await install();
  for (const name of Object.keys(entries))
    assert.match(done.stdout, new RegExp(`^  ${name}\\n.*its FIRECRAWL_API_KEY is in the command line`, 'm'));
  assert.match(done.stdout, /"command":"npx","args":\["-y","firecrawl-mcp","…"\]/);
  const { behind, ...left } = servers();
  assert.equal(behind.args[0], 'mcp');
  const { behind: _, ...otherwise } = others;
  assert.deepEqual(left, { ...entries, ...otherwise });
  const shown = [
    done,
    await uninstall(),
    await box.wrap(['mcp', 'install', '--json']),
    await install(),
    await box.wrap(['mcp', 'uninstall', '--json']),
  ];
  assert.doesNotMatch(shown.map(({ stdout, stderr }) => stdout + stderr).join(''), /canary/);
});
