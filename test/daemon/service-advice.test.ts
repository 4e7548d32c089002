// Advice on the services of this machine, on every kind of machine; and every place that names a program of systemd.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import type { Fix } from '../../daemon/api/doctor.ts';
import { SERVICE_MANAGERS, type ServiceManager } from '../../daemon/api/tunnel.ts';
import { Blocked, PROBLEM_CODES } from '../../daemon/api/values.ts';
import { type Check, message, problem } from '../../daemon/doctor/check.ts';
import { service } from '../../daemon/doctor/checks/registration.ts';
import { explain, loadKnowledge } from '../../daemon/doctor/knowledge.ts';
import { RESTART_WARP } from '../../daemon/doctor/world/facts.ts';
import { nextStep } from '../../daemon/view/client/labels.ts';
import { type Manager, serviceCommand, serviceLog, serviceState } from '../../daemon/view/client/service-words.ts';
import { setupView } from '../../daemon/view/forms/setup.ts';
import { english } from '../../daemon/view/translator.ts';
import { problemOf } from '../../daemon/warp/cli/failures.ts';
import { examine, snapshot, world } from '../support/doctor/world.ts';

const OF_SYSTEMD = /systemctl|journalctl|systemd-run/;
const KNOWLEDGE = resolve(import.meta.dirname, '../../data/knowledge');

const WITH_SERVICE: readonly ServiceManager['kind'][] = ['openrc', 'runit', 's6'];
const MACHINES: readonly ServiceManager[] = [
  ...SERVICE_MANAGERS.map(kind => ({ kind, startsWarp: false })),
  ...WITH_SERVICE.map(kind => ({ kind, startsWarp: true })),
];

/** Everything that Culvert says about WARP's service, in terminal, API, window and doctor. */
async function everyAdvice(t: Parameters<typeof world>[0], manager: Manager): Promise<string[]> {
  const serviceManager = manager ?? null;
  const where = { manager, emulated: false };
  const cli = { version: null, ...(manager ? { serviceManager: manager } : {}) };
  const said: unknown[] = [
    ...PROBLEM_CODES.map(code => nextStep(code, where)),
    ...Blocked.options.map(blocked => setupView(blocked, english, null, cli)),
    loadKnowledge([KNOWLEDGE], manager).codes,
    ...(['start', 'restart'] as const).map(verb => serviceCommand(verb, manager)),
    serviceLog(manager),
    serviceState(manager),
  ];
  for (const blocked of ['service-stopped', 'service-hangs'] as const) {
    const given = snapshot({ status: { state: 'unable', blocked } });
    const shown = { ...given, tunnelCli: { ...given.tunnelCli, ...cli } };
    const output = { ok: false, stdout: '', stderr: '', exitCode: 1, durationMs: 1 } as never;
    const failed = problemOf(
      'the action connect',
      { kind: blocked, code: null, message: '' },
      { output } as never,
      shown,
    );
    said.push(failed.message, failed.extras);
    said.push(await examine(service, world(t, { tunnel: shown, serviceManager })));
  }
  for (const fix of FIXES) said.push(await examine(fixing(fix), world(t, { serviceManager })));
  return said.map(each => JSON.stringify(each));
}

const fixing = (fix: Fix): Check => ({
  id: 'fixing',
  title: 'Fixing',
  group: 'service',
  source: null,
  probe: async () => problem([message('seen')], message('Broken.'), fix),
});

const commands = (...words: string[]): Fix => ({
  kind: 'commands',
  label: 'Mend it',
  commands: [words],
  undo: [],
  privileged: true,
});
const OWN = ['chown', 'root:root', '/x'];
const MODE = ['chmod', '600', '/x'];
const RESTART = ['systemctl', 'restart', 'warp-svc'];
/** A fix of which only the last command is systemd's. */
const OF_THREE: Fix & { kind: 'commands' } = {
  kind: 'commands',
  label: 'Mend it',
  commands: [OWN, MODE, RESTART],
  undo: [OWN, RESTART],
  privileged: true,
};
const FIXES: readonly Fix[] = [
  RESTART_WARP,
  commands('systemctl', 'stop', 'dnsmasq.service'),
  commands('systemd-run', '--user', '--collect', 'culvert', 'portal'),
  {
    kind: 'file',
    label: 'Limit dnsmasq',
    path: '/etc/dnsmasq.d/x.conf',
    diff: '+x',
    content: 'x\n',
    privileged: true,
    restart: 'dnsmasq.service',
    repair: ['dnsmasq'],
  },
  OF_THREE,
];

describe('advice on WARP’s service', () => {
  for (const machine of MACHINES)
    test(`names no program of systemd with ${machine.kind}${machine.startsWarp ? ' and its service' : ''}`, async t => {
      for (const text of await everyAdvice(t, machine)) {
        assert.doesNotMatch(text, OF_SYSTEMD);
        assert.doesNotMatch(text, /\{(start|restart|log|state)[a-z ]* warp-svc\}/);
      }
    });

  test('names systemctl and journalctl if systemd runs', async t => {
    const text = (await everyAdvice(t, null)).join('\n');
    for (const command of [
      'sudo systemctl enable --now warp-svc',
      'sudo systemctl restart warp-svc',
      'journalctl -u warp-svc',
    ])
      assert.ok(text.includes(command), command);
    assert.doesNotMatch(text, /\{(start|restart|log|state)[a-z ]* warp-svc\}/);
  });

  test('is a command of the manager that knows the service, else the program or its container', () => {
    const lines = MACHINES.map(machine => [
      `${machine.kind} ${machine.startsWarp}`,
      serviceCommand('start', machine),
      serviceCommand('restart', machine),
    ]);
    assert.deepEqual(lines, [
      ['openrc false', 'sudo warp-svc', 'sudo warp-svc'],
      ['s6 false', 'sudo warp-svc', 'sudo warp-svc'],
      ['runit false', 'sudo warp-svc', 'sudo warp-svc'],
      ['gvisor false', 'warp-svc', 'warp-svc'],
      ['docker false', 'warp-svc', 'docker restart CONTAINER'],
      ['podman false', 'warp-svc', 'podman restart CONTAINER'],
      ['container false', 'warp-svc', 'warp-svc'],
      ['none false', 'sudo warp-svc', 'sudo warp-svc'],
      [
        'openrc true',
        'sudo rc-update add warp-svc && sudo rc-service warp-svc start',
        'sudo rc-service warp-svc restart',
      ],
      ['runit true', 'sudo sv up warp-svc', 'sudo sv restart warp-svc'],
      ['s6 true', 'sudo s6-svc -u /run/service/warp-svc', 'sudo s6-svc -r /run/service/warp-svc'],
    ]);
  });

  test('the doctor keeps a fix that the manager can make, and says the rest in a sentence', async t => {
    const of = async (manager: ServiceManager, fix: Fix) => {
      const result = await examine(fixing(fix), world(t, { serviceManager: manager }));
      return [result.explanation, result.fix?.kind === 'commands' ? result.fix.commands : (result.fix ?? null)];
    };
    const openrc = { kind: 'openrc', startsWarp: true } as const;
    assert.deepEqual(await of(openrc, RESTART_WARP), ['Broken.', [['rc-service', 'warp-svc', 'restart']]]);
    const docker = { kind: 'docker', startsWarp: false } as const;
    assert.deepEqual(await of(docker, RESTART_WARP), [
      'Broken. No service manager was found in this container. Restart the container on its host: docker restart CONTAINER',
      null,
    ]);
    assert.deepEqual(await of(docker, FIXES[1]!), [
      'Broken. systemd does not run here. Do this yourself, as root: stop dnsmasq.service',
      null,
    ]);
    const three = await examine(fixing(OF_THREE), world(t, { serviceManager: openrc }));
    const rc = ['rc-service', 'warp-svc', 'restart'];
    assert.deepEqual(three.fix, { ...OF_THREE, commands: [OWN, MODE, rc], undo: [OWN, rc] });
    const [said, left] = await of(docker, OF_THREE);
    assert.equal(
      said,
      'Broken. No service manager was found in this container. Restart the container on its host: docker restart CONTAINER',
    );
    assert.deepEqual(left, [OWN, MODE]);
    assert.deepEqual(await of(docker, FIXES[2]!), ['Broken. Run this yourself: culvert portal', null]);
    const [text, file] = await of(docker, FIXES[3]!);
    assert.equal(text, 'Broken. Restart it yourself after that: dnsmasq.service');
    assert.deepEqual(
      [(file as { restart?: string }).restart, (file as { repair?: unknown }).repair],
      [undefined, undefined],
    );
  });

  test('explains the words that people search for on machines without systemd', () => {
    const { codes } = loadKnowledge([KNOWLEDGE], { kind: 'podman', startsWarp: false });
    for (const words of [
      'docker',
      'podman',
      'container',
      "System has not been booted with systemd as init system (PID 1). Can't operate.",
      "policy-rc.d returned 101, not running 'start warp-svc.service'",
    ])
      assert.deepEqual(
        explain(codes, words).map(({ code }) => code),
        ['No systemd'],
        words,
      );
  });
});

/** Files that may name programs of systemd, and why: each other place takes its words from service-words.ts. */
const MAY_NAME: readonly [file: RegExp, reason: string][] = [
  [/^daemon\/view\/client\/service-words\.ts$/, 'the one table'],
  [/^daemon\/doctor\/(checks|world|repair)\//, 'fixes that the engine replaces, and programs that the doctor asks'],
  [/^daemon\/doctor\/(fixes|service-fix)\.ts$/, 'what applies and replaces fixes'],
  [/^daemon\/view\/fix\.ts$/, 'lines of a fix that the engine left'],
  [/^daemon\/view\/forms\/checks\.ts$/, 'compares a fix with what the session can start'],
  [/^daemon\/core\/process\.ts$/, 'says what its answer is for'],
  [/^daemon\/apps\/(desktop-entry|escapes|launch)\.ts$/, 'programs of apps, and units of the user where systemd runs'],
  [/^daemon\/(update\/running-daemon|trust\/environment)\.ts$/, 'asks the user’s manager, and goes on without one'],
  [/^daemon\/cli\/commands\/culvert\/(daemon|install)\.ts$/, 'asks the user’s manager, and goes on without one'],
  [/^daemon\/cli\/commands\/culvert\/shell\.ts$/, 'asks first whether systemd runs'],
  [/^daemon\/http\/server\.ts$/, 'asks first whether systemd runs'],
  [/^daemon\/cli\/commands\/traffic\/network\.ts$/, 'about another machine'],
  [
    /^daemon\/cli\/commands\/traffic\/portal\.ts$|^daemon\/networks\/portal\//,
    'about the root service, which exists under systemd only',
  ],
  [/^daemon\/killswitch\//, 'the root service, which exists under systemd only'],
  [
    /^wrapper\/catalog\/(bounds|rule-values|knowledge-commands)\.ts$/,
    'lists of programs that a catalog may or may not name',
  ],
  [/^wrapper\/(gateway\/unit\.ts|README\.md)$/, 'units of the user, which it refuses without a manager'],
  [/^data\/(arch|deb|rpm|killswitch)\//, 'scripts of packages and of the root service, which test for systemd'],
  [/^data\/(culvert\.service\.in|doc\/.*|knowledge\/known-issues\.toml)$/, 'documents'],
];

test('no other place names a program of systemd', () => {
  const root = resolve(import.meta.dirname, '../..');
  const words = [
    'grep',
    '--untracked',
    '-lE',
    OF_SYSTEMD.source,
    '--',
    'daemon',
    'gnome',
    'wrapper',
    'manifest',
    'data',
    ':!data/openapi.json',
  ];
  const files = execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim().split('\n');
  assert.ok(files.length > 10);
  for (const file of files)
    assert.ok(
      MAY_NAME.some(([may]) => may.test(file)),
      `${file} names systemd: see service-words.ts`,
    );
  for (const [may, reason] of MAY_NAME)
    assert.ok(
      files.some(file => may.test(file)),
      `${may} (${reason}) matches nothing`,
    );
});

test('the table of codes says commands of the service by their placeholders only', () => {
  const text = readFileSync(join(KNOWLEDGE, 'codes.toml'), 'utf8');
  for (const line of text.split('\n'))
    if (/^\s*(try|"|check)/.test(line)) assert.doesNotMatch(line, /(systemctl|journalctl) .*warp-svc/, line);
});
