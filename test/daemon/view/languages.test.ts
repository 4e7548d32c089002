// Words and figures of other languages: placeholders in another order, digits, commas, and what the daemon says by code.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ApiError } from '../../../daemon/api/client.ts';
import type { Diagnosis } from '../../../daemon/api/doctor.ts';
import {
  type App,
  type Change,
  ProblemCode,
  type SettingsDiff,
  type UpdateCheck,
  type Why,
  type WhyAddress,
} from '../../../daemon/api/schema.ts';
import { labeled } from '../../../daemon/doctor/file-fix.ts';
import { formatCount, formatDate, formatDuration, formatList, isRightToLeft } from '../../../daemon/view/format.ts';
import { message, quoted } from '../../../daemon/view/message.ts';
import { settingsLines } from '../../../daemon/view/pages/settings-file.ts';
import { appDetails } from '../../../daemon/view/states/apps.ts';
import { changeText, describeUnconfirmed } from '../../../daemon/view/states/changes.ts';
import { translated } from '../../../daemon/view/states/findings.ts';
import { describeKillSwitch } from '../../../daemon/view/states/killswitch.ts';
import { notificationOf } from '../../../daemon/view/states/notification.ts';
import { errorText, errorWithDetail, problemText } from '../../../daemon/view/states/problems.ts';
import { describeTimed } from '../../../daemon/view/states/timed.ts';
import { configProblemText, describeTunnel } from '../../../daemon/view/states/tunnel.ts';
import { describeUpdate } from '../../../daemon/view/states/updates.ts';
import { whyAnswers, whyForm } from '../../../daemon/view/states/why.ts';
import { chosenLanguage, english, fill, type Translator } from '../../../daemon/view/translator.ts';
import { type Entry, menuOf, tooltipOf } from '../../../gnome/session/menu.ts';
import { initialConfig, KILL_SWITCH, noUpdate } from '../../support/gnome/initial.ts';
import { foreign, pseudo } from '../../support/gnome/pseudo.ts';
import { clientState } from '../../support/gnome/view/translator.ts';

/** A language in which every text has a mark. */
const marked: Translator = { _: text => `<${text}>`, ngettext: (one, many, n) => (n === 1 ? one : many), locale: 'de' };

const nobodys: Translator = { _: pseudo, ngettext: (one, many, n) => pseudo(n === 1 ? one : many), locale: 'en' };

test('a translation may name values by their position, and leave one out', () => {
  assert.equal(fill('%2$s, %1$d', 2, '1:00'), '1:00, 2');
  assert.equal(fill('يومان، %2$s', 2, '1:00'), 'يومان، 1:00');
  assert.equal(fill('%d of %s', 1, 'two'), '1 of two');
});

test('counts, durations and lists use digits and comma of the language', () => {
  const arabic: Translator = { ...english, locale: 'ar-EG', _: text => (text === '%s, %s' ? '%s، %s' : text) };
  assert.equal(formatCount(1234, { locale: 'ar-EG' }), '١٢٣٤');
  assert.equal(formatCount(1234, { locale: 'de' }), '1234');
  assert.equal(formatDuration(65, arabic), '\u2068١:٠٥\u2069');
  assert.equal(formatList(['١', '٢', '٣'], arabic), '١، ٢، ٣');
  assert.deepEqual(
    ['ar-EG', 'he', 'de', 'arn', undefined].map(locale => isRightToLeft({ ...english, locale })),
    [true, true, false, false, false],
  );
});

test('the default of the language leaves it to the desktop', () => {
  const config = initialConfig();
  assert.equal(chosenLanguage(null), null);
  assert.equal(chosenLanguage(config), null);
  assert.equal(chosenLanguage({ ...config, sources: { 'ui.locale': 'user' } }), 'en');
});

test('every problem that a user can meet has its own words', () => {
  for (const code of ProblemCode.options)
    assert.match(problemText({ code, detail: 'The daemon’s.' }, marked), /^<.+>$/, code);
});

test('a date has its time by 24 hours in every language, as the other times', () => {
  const evening = new Date(2026, 10, 24, 18, 5, 9).getTime();
  for (const locale of ['en-US', 'de', 'ar', 'ja']) assert.match(formatDate(evening, { ...marked, locale }), /18:05$/);
});

test('an error is worded by its code, and stays as exact as it is in English', () => {
  const problem = {
    type: '',
    title: '',
    status: 409,
    code: 'proxy-port-in-use',
    detail: 'Port 1 is in use.',
    hint: 'End it.',
  };
  const error = new ApiError(problem as ApiError['problem']);
  assert.equal(errorText(error, english), 'Port 1 is in use. End it.');
  assert.equal(errorWithDetail(error, english), 'Port 1 is in use. End it.');
  assert.equal(errorText(error, marked), '<The proxy’s port is in use.>');
  assert.equal(errorWithDetail(error, marked), '<The proxy’s port is in use.> (Port 1 is in use.)');
  assert.equal(errorWithDetail(new Error('No answer'), marked), 'No answer');
});

test('a finding is translated, and what it quotes stays', () => {
  const fix = { kind: 'open', ...labeled(message('Stop %s', 'x.service')), url: 'http://example.com' } as const;
  const finding = {
    title: 'Tray',
    evidence: ['no session bus', 'nameserver 1.1.1.1'],
    explanation: 'One. Until 2026.',
    fix,
    wording: {
      evidence: [message('no session bus'), quoted('nameserver 1.1.1.1')],
      explanation: [message('One.'), message('Until %s.', { time: '2026-01-02T03:04:05.000Z' })],
    },
  };
  const { wording: _, ...old } = finding;
  const shown = translated(finding, marked);
  assert.deepEqual(shown.evidence, ['<no session bus>', 'nameserver 1.1.1.1']);
  assert.match(shown.explanation, /^<One\.> <Until \d\d\.01\.2026, \d\d:\d\d\.>$/);
  assert.deepEqual([shown.title, shown.fix.label], ['<Tray>', '<Stop x.service>']);
  assert.equal(translated(finding, { ...marked, locale: 'ja' }).explanation.includes('> <'), false);
  assert.deepEqual(translated(old, marked).evidence, old.evidence, 'a daemon without wordings');
});

test('every text of the daemon is put into the reader’s language, and what it quotes stays', () => {
  const wording = [message('It is turned on but not in force.'), message('nft says %s', 'EPERM')];
  const killSwitch = { ...KILL_SWITCH, enabled: true, active: false, detail: 'English.', wording };
  assert.equal(
    describeKillSwitch(clientState({ killSwitch }), marked).detail,
    '<It is turned on but not in force.> <nft says EPERM>',
  );
  const { wording: _, ...older } = killSwitch;
  assert.equal(describeKillSwitch(clientState({ killSwitch: older }), marked).detail, 'English.', 'an older service');

  const change = { subject: 'mode', value: 'doh', previous: 'warp', setAt: '', endingSoon: false, endsAt: null };
  const stuck = { ...change, confirmBy: null, problem: 'The service does not run.' } as Change;
  const set = (more: Partial<Change>) => changeText({ ...stuck, ...more }, marked);
  assert.equal(set({}), '<<Mode> could not be reverted yet: The service does not run.>');
  assert.equal(
    set({ problemCode: 'service-stopped' }),
    '<<Mode> could not be reverted yet: <The WARP service is not running.>>',
  );
  assert.equal(
    set({ problemCode: 'interrupted' }),
    '<<Mode> could not be reverted yet: <Culvert stopped during this change.>>',
  );
  assert.equal(
    set({ problemCode: 'busy', wording: [message('%s is taken', 'x')] }),
    '<<Mode> could not be reverted yet: <x is taken>>',
  );
  assert.equal(changeText({ ...stuck, problemCode: 'service-stopped' }, english).endsWith(stuck.problem!), true);

  const address: WhyAddress = {
    address: '192.0.2.1',
    tunnel: null,
    reason: 'unknown',
    entry: null,
    blocked: false,
    kernel: null,
    kernelProblem: 'ip printed no route',
    wording: [message('ip printed no route')],
    disagrees: false,
  };
  const why: Why = {
    ok: true,
    target: { kind: 'host', value: 'a.test' },
    mode: null,
    list: null,
    fallback: null,
    proxy: null,
    addresses: [address],
    resolveProblem: 'gone',
    wording: [message('the name does not exist')],
  };
  assert.equal(whyAnswers(why, marked)[0]!.kernel, '<The kernel could not be asked: <ip printed no route>>');
  const rows = whyForm(why, async () => {}, marked).groups.flatMap(group => group.rows);
  assert.match(rows.at(-1)?.subtitle ?? '', /<The kernel could not be asked: <ip printed no route>>/);

  const settings: SettingsDiff = {
    ok: true,
    changes: [],
    invalid: [{ key: 'a', reason: 'old' }],
    skipped: [{ key: 'b', reason: 'x', wording: message('is managed by your organization') }],
  };
  assert.deepEqual(
    settingsLines(settings, marked).map(({ text }) => text),
    ['a: old', '<left out: b <is managed by your organization>>'],
  );

  const config = initialConfig();
  const broken = { file: '/c', line: 1, key: 'a', message: 'unknown key', wording: message('unknown key') };
  assert.equal(configProblemText({ ...config, problems: [broken] }, marked), '/c:1: a: <unknown key>');

  const app = { method: 'none', packaging: 'native', note: 'Its program x is not there.' } as App;
  assert.match(appDetails(app, marked), /> <Its program x is not there\.>$/);
  const named = appDetails({ ...app, wording: message('Its program %s is missing.', '⟦x⟧') }, nobodys);
  assert.equal(foreign(named).trim(), '');

  const problem = { code: 'invalid-query', detail: 'No.', wording: [message('%s is no host', 'x')] };
  assert.equal(problemText(problem, marked), '<x is no host>');
  assert.equal(errorWithDetail(new ApiError(problem as ApiError['problem']), marked), '<x is no host>');
});

test('the reason of a check for updates that has no answer is worded, followed by what happened', () => {
  const problem = { code: 'network-failed', detail: 'example.com: ECONNREFUSED.' };
  const shown = (source: UpdateCheck['source']['state'], tr: Translator, found = problem) =>
    describeUpdate({ ...noUpdate(), problem: found, source: { state: source, lastAnswerAt: null } }, null, '1', tr)
      .problem;
  assert.equal(shown('ok', marked), '<The update source could not be reached> (example.com: ECONNREFUSED.)');
  assert.match(shown('refused', marked)!, /^<The release at the update source was refused> \(/);
  assert.equal(shown('ok', english), problem.detail);
  assert.equal(shown('ok', marked, { code: 'busy', detail: 'x' }), '<WARP is busy. Try again soon.>');
});

test('the catalogs take the texts of every file that has some', () => {
  const listed = new Set(readFileSync('po/POTFILES', 'utf8').split('\n'));
  const sources = ['daemon', 'gnome'].flatMap(directory =>
    readdirSync(directory, { recursive: true, encoding: 'utf8' }).map(name => `${directory}/${name}`),
  );
  const marking = /(?<![.\w])(?:_|N_|message|ngettext)\(\s*['"`]/;
  const missing = sources.filter(
    name => /\.tsx?$/.test(name) && !listed.has(name) && marking.test(readFileSync(name, 'utf8')),
  );
  assert.deepEqual(missing, []);
});

const CONNECTED = { state: 'connected', reason: null, raw: 'Connected' } as const;
const blockedBy = (code: string) => ({ state: 'unable', reason: { code, text: 'vendor' }, raw: 'Unable' }) as const;

/** A cause that the daemon found, in English, with its wording. */
const CAUSE: Diagnosis = {
  id: 'dns-port-53',
  title: 'Port 53 for the DNS proxy',
  evidence: ['seen'],
  explanation: 'Cause.',
  wording: { evidence: [message('%s is empty', '⟦/etc/x⟧')], explanation: [message('Cause of %s.', '⟦x⟧')] },
  fix: { kind: 'action', ...labeled(message('Stop %s', '⟦x⟧')), actions: [{ action: 'connect' }], undo: [] },
  fixId: 'x',
  source: null,
  at: '2026-01-01T00:00:00.000Z',
};

test('every line of the tray’s menu, tooltip and notifications can be translated', () => {
  const now = Date.now();
  const killSwitch = { ...KILL_SWITCH, enabled: true, active: true };
  const pausedUntil = new Date(now + 600_000).toISOString();
  const clients = [
    clientState(),
    clientState({ status: CONNECTED, killSwitch }),
    clientState({ status: blockedBy('NoNetwork') }),
    clientState({ killSwitch: { ...killSwitch, pausedUntil } }),
    clientState({ status: { blocked: 'not-registered' } }),
    clientState({ status: CONNECTED }, { offline: { code: 'stopped', detail: '' } }),
    ...[CONNECTED, blockedBy('Unheard')].map(status => {
      const client = clientState({ status });
      return { ...client, snapshot: { ...client.snapshot!, diagnosis: CAUSE } };
    }),
  ];
  const texts = clients.flatMap(client => {
    const [tunnel, blocking] = [describeTunnel(client, nobodys), describeKillSwitch(client, nobodys)];
    const shown = { tunnel, killSwitch: blocking, recent: [{ id: 'mail', name: '⟦Mail⟧' }], proxy: '127.0.0.1:40000' };
    const timed = describeTimed(client, nobodys);
    const unconfirmed = describeUnconfirmed(client, nobodys);
    const all = {
      ...shown,
      update: '1.0.0',
      network: null,
      remote: null,
      stopped: Boolean(client.offline),
      now,
      timed,
      unconfirmed,
    };
    const flat = (entries: Entry[]): (string | null)[] =>
      entries.flatMap(({ label, children = [] }) => [label, ...flat(children)]);
    const { title, text } = tooltipOf(all, nobodys);
    return [...flat(menuOf(all, nobodys)), title, ...text.split('\n')];
  });
  const was = clientState({ status: CONNECTED });
  const update = { ...noUpdate(), updateAvailable: true, latest: '1.0.0' };
  const notices = [
    ...['CaptivePortalTimedOut', 'NoNetwork', 'Unheard'].map(code => clientState({ status: blockedBy(code) })),
    clientState({ status: blockedBy('NoNetwork'), killSwitch }),
    clientState({ status: { blocked: 'not-registered' } }),
    clientState({ status: CONNECTED }, { update }),
    clientState({ status: CONNECTED }, { update: { ...update, source: { state: 'refused', lastAnswerAt: null } } }),
  ].map(after => notificationOf(was, after, null, nobodys)!);
  texts.push(...notices.flatMap(({ summary, body, action }) => [summary, ...body.split('\n'), action?.label ?? null]));
  assert.ok(texts.length > 50);
  assert.deepEqual(
    texts.filter(text => text !== null && foreign(text).trim() !== ''),
    [],
  );
});
