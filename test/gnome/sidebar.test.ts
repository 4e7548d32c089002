// The list of pages next to the page of a wide window.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { missing } from '../support/gnome/desktop.ts';
import { app, change, recorded } from '../support/gnome/initial.ts';
import { daemon, stage, usePages } from '../support/gnome/pages.ts';
import { until } from '../support/until.ts';

describe('the list of pages', { skip: missing('xdotool'), concurrency: false }, () => {
  const { find, press } = usePages();
  const place = async (name: string) => (await stage.ask({ do: 'place', name })) as number[] | null;
  const resize = async (width: number) => {
    stage.x('windowsize', '--sync', stage.window(), String(width), '700');
    // a shadow around the window is part of what X measures
    await until(async () => {
      const [, , found] = (await place('Culvert'))!;
      return found! <= width && found! > width - 60;
    }, `${width} pixels`);
  };
  const isListed = async () => (await stage.names()).includes('Server and Proxy');
  const shown = async () => ((await stage.ask({ do: 'page' })) as string) || '';
  const focus = (name: string) => stage.ask({ do: 'focus', name });
  const focused = () => stage.ask({ do: 'focused' });

  test('is next to the page from 720 pixels on, with the page that is shown marked', async () => {
    await resize(700);
    assert.equal(await isListed(), false);
    await resize(1000);
    await until(isListed, 'the list');
    const [, , width] = (await place('Pages'))!;
    const [left] = (await place('Connect'))!;
    assert.ok(left! > width!, 'the page is next to the list');
    const apps = (await stage.names()).filter(name => name === 'Apps');
    assert.equal(apps.length, 2, 'it takes the place of the switcher: a row and its label');
    assert.deepEqual(await stage.ask({ do: 'selected' }), ['Connection']);
  });

  for (const width of [440, 700, 1000, 1400])
    test(`at ${width} pixels, the cards and lists of a page have the same edges as those of other pages`, async () => {
      await resize(width);
      const wrong: Record<string, number[][]> = {};
      const all: Record<string, string> = {};
      daemon.apps = [app('mail', 'Mail'), app('calc', 'Calculator')];
      daemon.history = recorded();
      for (const page of ['connection', 'apps', 'routes', 'editor', 'history', 'settings', 'dns'] as const) {
        await stage.turn(page);
        await stage.settled();
        let cards: number[][] = [];
        const hasCards = async () => {
          cards = (await stage.ask({ do: 'cards' })) as number[][];
          return cards.length > 0 && cards.every(([, , width]) => width! > 0);
        };
        await until(hasCards, `a card or list on the page ${page}`);
        const edges = cards.map(([left, , width]) => [left!, left! + width!]);
        if (new Set(edges.map(String)).size > 1) wrong[page] = edges;
        // at 1400 pixels, the first page has two columns
        if (page !== 'connection' || width < 1100) all[page] = String(edges[0]);
      }
      assert.deepEqual(wrong, {});
      assert.equal(new Set(Object.values(all)).size, 1, JSON.stringify(all));
    });

  test('the question about a change has its buttons on one line each', async () => {
    await resize(1000);
    daemon.setChanges([change('mode', { value: 'doh', confirmBy: new Date(Date.now() + 600_000).toISOString() })]);
    await find('Revert Now');
    await stage.settled();
    const [revert, keep] = [(await place('Revert Now'))!, (await place('Keep'))!];
    daemon.setChanges([]);
    assert.equal(revert[3], keep[3], 'as high as a button of one word');
    await stage.gone('Revert Now');
  });

  test('Enter on an entry opens the page, without a way back that leads nowhere else', async () => {
    await resize(1000);
    await until(isListed, 'the list');
    await focus('Routes');
    stage.x('key', 'Down');
    await until(async () => (await focused()) === 'DNS', 'the next entry has the focus');
    assert.equal(await shown(), 'connection', 'the arrow keys turn to no page');
    stage.x('key', 'Return');
    await until(async () => (await shown()) === 'dns', 'the page');
    assert.deepEqual(await stage.ask({ do: 'selected' }), ['DNS']);
    assert.equal((await stage.names()).includes('Back'), false);
    await stage.turn('editor');
    await find('Back');
    assert.deepEqual(await stage.ask({ do: 'selected' }), ['Routes']);
    await press('Back');
    await until(async () => (await shown()) === 'dns', 'the page before');
  });

  test('goes with the room for it, and leaves the page and its focus as they are', async () => {
    await resize(1000);
    await until(isListed, 'the list');
    await stage.turn('killswitch');
    await focus('Allow local network');
    await resize(600);
    await until(async () => !(await isListed()), 'no list');
    assert.equal(await shown(), 'killswitch');
    assert.equal(await focused(), 'Allow local network');
    await find('Back');
    await resize(1000);
    await until(isListed, 'the list');
    assert.equal(await focused(), 'Allow local network');
    await focus('History');
    await resize(600);
    await until(async () => !(await isListed()), 'no list');
    await until(async () => (await focused()) !== '', 'the focus is in the page');
    await resize(360);
  });

  test('has the search, which shows its results and keeps the keyboard', async () => {
    await resize(1000);
    await until(isListed, 'the list');
    assert.equal((await stage.names()).includes('Settings'), false, 'these entries are the settings');
    stage.key('ctrl+f');
    await until(async () => (await focused()) === 'Search settings', 'the search');
    stage.x('type', '--delay', '20', 'malware');
    await find('Malware');
    assert.equal(await shown(), 'settings');
    stage.x('key', 'Return');
    await until(async () => (await shown()) === 'dns', 'the page of the first result');
    await resize(600);
    await stage.turn('settings');
    await find('Search settings');
  });

  test('takes the text of a search over, and gives it back, with the keyboard', async () => {
    await resize(600);
    await stage.turn('settings');
    stage.key('ctrl+f');
    stage.x('type', '--delay', '20', 'malwa');
    await find('Malware');
    await resize(1000);
    await until(isListed, 'the list');
    // a field with text has that as its name here
    await until(async () => (await focused()) === 'malwa', 'the search of the list');
    stage.x('type', '--delay', '20', 're');
    await find('malware');
    await find('Malware');
    await resize(600);
    await until(async () => !(await isListed()), 'no list');
    await find('malware');
    await find('Malware');
    await until(async () => (await focused()) === 'malware', 'the search of the page');
  });
});
