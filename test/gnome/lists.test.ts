// Long lists in the panel: a thousand apps and a log that follows its end.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { missing } from '../support/gnome/desktop.ts';
import { app, logEntry } from '../support/gnome/initial.ts';
import { daemon, stage, useStage } from '../support/gnome/pages.ts';
import { FULL } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';

describe('long lists', { skip: missing('xdotool'), concurrency: false }, () => {
  useStage(() => {
    daemon.apps = Array.from({ length: 1000 }, (_, i) => app(`app-${i}`, `Application ${i}`));
    daemon.entries = Array.from({ length: 500 }, (_, i) => logEntry(i + 1, `warp-cli number ${i + 1}`));
  }, /did not receive a focus-out event/);

  test('a thousand apps are searched from the keyboard as one types', async () => {
    await stage.turn('apps');
    await stage.find('Application 0');
    stage.key('ctrl+f');
    stage.x('type', '--delay', '20', 'tion 777');
    await stage.find('Start Application 777');
    await stage.gone('Start Application 0');
    stage.key('ctrl+a');
    stage.x('type', '--delay', '20', 'nothing like it');
    await stage.find('No app matches the search.');
    stage.key('ctrl+a');
    stage.x('key', 'BackSpace');
    await stage.find('Start Application 0');
  });

  test('the log follows the newest until the user scrolls up, and again at the end', async () => {
    await stage.turn('log');
    await stage.find('warp-cli number 500, OK');
    daemon.log(logEntry(501, 'warp-cli number 501'));
    await until(() => seen('warp-cli number 501, OK'), 'the newest');
    const id = stage.window();
    stage.x('mousemove', '--window', id, '200', '400', 'click', '--repeat', '15', '4');
    await stage.find('Go to the newest');
    daemon.log(logEntry(502, 'warp-cli number 502'));
    daemon.log(logEntry(503, 'warp-cli number 503'));
    await until(async () => !(await seen('warp-cli number 503, OK')), 'the entry to stay out of sight');
    await stage.press('Go to the newest');
    await stage.gone('Go to the newest');
    await until(() => seen('warp-cli number 503, OK'), 'the newest');
  });

  test('the columns of the log are straight, whatever the outcome and the time that it took', async () => {
    const outcomes = [
      { durationMs: 3 },
      { durationMs: 12_345 },
      { ok: false, exitCode: 0 },
      { ok: false, exitCode: 3 },
      { ok: false, exitCode: null },
    ];
    for (const [i, more] of outcomes.entries()) daemon.log(logEntry(600 + i, `warp-cli column ${i}`, more));
    await until(() => seen('warp-cli column 4, killed'), 'the newest');
    await stage.find('warp-cli column 2, failed');
    const texts = (await stage.ask({ do: 'texts' })) as { text: string; type: string }[];
    const heads = texts.filter(({ text, type }) => type === 'GtkLabel' && / column \d$/.test(text));
    assert.equal(heads.length, outcomes.length);
    assert.equal(
      new Set(heads.map(({ text }) => text.indexOf('column'))).size,
      1,
      heads.map(({ text }) => text).join('\n'),
    );
  });

  test('a route that is removed leaves the list where it is scrolled to', async () => {
    const ips = Array.from({ length: 300 }, (_, i) => ({ value: `10.0.${i % 256}.${i}`, description: null }));
    daemon.setRoutes({ mode: 'exclude', ips, hosts: [] });
    await stage.turn('routes');
    await stage.find('Remove 10.0.5.5');
    const id = stage.window();
    stage.x('mousemove', '--window', id, '200', '600', 'click', '--repeat', '15', '5');
    let shown: string[] = [];
    await until(async () => {
      const before = shown.join();
      shown = [];
      for (const { value } of ips.slice(10, 60)) if (await seen(`Remove ${value}`)) shown.push(value);
      // a busy machine may still be scrolling
      return shown.length > 3 && shown.join() === before;
    }, 'rows further down');
    const [first, second] = shown as [string, string];
    const place = async () => ((await stage.ask({ do: 'place', name: first })) as number[])[1];
    const before = await place();
    daemon.onAction = () =>
      daemon.setRoutes({ mode: 'exclude', ips: ips.filter(({ value }) => value !== second), hosts: [] });
    await stage.press(`Remove ${second}`);
    await stage.find(`${second} removed`);
    await stage.settled();
    // GTK keeps the place of a row near the end of the window, so that those above the removed one move by its height
    assert.ok(Math.abs((await place())! - before!) < 80);
    assert.equal((await stage.find(`Remove ${first}`)).sensitive, true, 'rows are renewed');
  });

  test('a list is one stop of the Tab key, and Delete removes the item with the focus', async () => {
    const ips = Array.from({ length: 30 }, (_, i) => ({ value: `10.1.0.${i}`, description: null }));
    daemon.setRoutes({ mode: 'exclude', ips, hosts: [] });
    daemon.actions = [];
    await stage.turn('routes');
    await stage.find('Remove 10.1.0.5');
    await stage.settled();
    const stops = (await stage.ask({ do: 'stops' })) as { name: string }[];
    // newer releases of GTK have no name of the row itself
    assert.ok(stops.filter(({ name }) => name.includes('10.1.0.')).length <= 1, JSON.stringify(stops));
    stage.key('ctrl+f');
    stage.x('key', 'Tab', 'Tab', 'Down', 'Delete');
    await stage.acted(1);
    assert.deepEqual(daemon.actions[0], { action: 'removeSplitIp', value: '10.1.0.1' });
  });

  for (const [page, first] of [
    ['apps', 'Application'],
    ['log', 'warp-cli'],
  ] as const)
    test(`the list of the page ${page} is one stop of the Tab key, with arrow keys inside`, async () => {
      await stage.turn(page);
      await until(async () => (await stage.names()).some(name => name.startsWith(first)), 'the list');
      await stage.settled();
      const stops = (await stage.ask({ do: 'stops' })) as { name: string }[];
      const inList = stops.filter(({ name }) => name.includes(first));
      assert.ok(inList.length <= 1, JSON.stringify(stops));
    });

  test('the arrow keys reach each control of an app', async () => {
    await stage.turn('apps');
    const first = 'Add Application 0 to the app menu';
    await stage.find(first);
    // a list that is still being filled would lose the focus
    await stage.settled();
    await stage.ask({ do: 'focus', name: first });
    const focused = async (name: string) => {
      await until(async () => (await stage.ask({ do: 'focused' })) === name, `the focus on ${name}`);
      await stage.settled();
    };
    await focused(first);
    stage.key('Right');
    await focused('Start Application 0');
    stage.key('Right');
    await focused('Application 0: More');
    stage.key('Left');
    await focused('Start Application 0');
    stage.key('Down');
    await until(
      async () => String(await stage.ask({ do: 'focused' })).includes('Application 1'),
      'the focus in the next row',
    );
  });

  test('a list that is filled again and again neither loses rows nor keeps the old ones', async () => {
    const memory = () =>
      Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${stage.panel.child.pid}/status`, 'utf8'))![1]);
    const refill = async () => {
      await stage.turn('apps');
      await stage.find('Start Application 0');
      await stage.turn('log');
      await until(() => seen('warp-cli number 503, OK'), 'the newest');
      await stage.ask({ do: 'collect' });
    };
    for (let i = 0; i < 3; i++) await refill();
    const before = memory();
    for (let i = 0; i < (FULL ? 6 : 3); i++) await refill();
    // 200 rows of the log and as many of the apps are about 20 MB
    assert.ok(memory() < before + 40_000, `${before} kB, then ${memory()} kB`);
    assert.doesNotMatch(stage.panel.output(), /Attempting to call back/);
  });

  /** True where it is within the window, and not only in the part of a list that is kept beyond its edge. */
  const seen = async (name: string) => {
    const place = (of: string) => stage.ask({ do: 'place', name: of });
    const [window, row] = (await Promise.all([place('Culvert'), place(name)])) as (number[] | null)[];
    return Boolean(window && row && row[1]! >= 0 && row[1]! < window[3]!);
  };
});
