// The panel's routes and pending changes as a person uses them, and the keyboard's focus during them.
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import type { PageName } from '../../daemon/view/page-list.ts';
import { missing } from '../support/gnome/desktop.ts';
import { app, change, ROUTE_ANSWERS, ROUTE_PREVIEW } from '../support/gnome/initial.ts';
import { daemon, stage, succeed, usePages } from '../support/gnome/pages.ts';
import type { Control } from '../support/gnome/stage.ts';
import { until } from '../support/until.ts';

describe('the routes and changes', { skip: missing('xdotool'), concurrency: false }, () => {
  const { find, press, gone, type } = usePages();

  describe('the routes', () => {
    beforeEach(async () => {
      daemon.setRoutes({ mode: 'exclude', ips: [{ value: '10.0.0.0/8', description: null }], hosts: [] });
      await stage.turn('routes');
      await find('10.0.0.0/8');
    });

    test('are added once they are well-formed, and said to be wrong while they are typed', async () => {
      const field = 'Address, range or host to add';
      await stage.enter(field, '192.0.2');
      await find('Enter an address, a range such as 192.0.2.0/24, or a host name');
      assert.equal((await find('Add a route')).sensitive, false);
      await stage.enter(field, '10.0.0.0/8');
      await find('It is already on the list');
      await stage.enter(field, '192.0.2.7');
      daemon.onAction = () =>
        daemon.setRoutes({ mode: 'exclude', ips: [{ value: '192.0.2.7', description: null }], hosts: [] });
      await press('Add a route');
      await find('192.0.2.7 bypasses WARP');
      await find('Remove 192.0.2.7');
      assert.deepEqual(daemon.actions, [{ action: 'addSplitIp', value: '192.0.2.7' }]);
    });

    test('are removed with a way back', async () => {
      daemon.onAction = () => daemon.setRoutes({ mode: 'exclude', ips: [], hosts: [] });
      await press('Remove 10.0.0.0/8');
      await find('10.0.0.0/8 removed');
      await find('No routes');
      await press('Undo');
      await stage.acted(2);
      assert.deepEqual(daemon.actions.at(-1), { action: 'addSplitRange', value: '10.0.0.0/8' });
    });
  });

  describe('the routes as text', () => {
    beforeEach(async () => {
      daemon.answers = ROUTE_ANSWERS;
      daemon.onAsked = ({ line }) =>
        line === 'POST /api/routes/preview' ? ROUTE_PREVIEW : { ok: true, revision: 'b', added: 1, removed: 1 };
    });

    test('are previewed, applied with a way back, and wait to be confirmed', async () => {
      await stage.turn('routes');
      await press('Edit as Text');
      await find('Last change: Undo');
      assert.equal((await find('Apply changes: Apply')).sensitive, false);
      await stage.enter('Edit as Text', 'mode exclude\n10.0.0.0/8\n192.168.1.0/24\n');
      await press('No preview yet: Preview');
      await find('1 to add, 1 to remove, 1 unchanged, 0 invalid');
      await find(
        '+ 192.168.1.0/24\n- 192.168.0.0/16\n' +
          '  line 6: 10.0.0.0/8 is in line 2 already\n  line 5: 10.1.0.0/16 is part of 10.0.0.0/8',
      );
      await find(
        'Your router 192.168.1.1 goes into the tunnel. You can’t reach it, or devices near it, while connected.',
      );
      await press('Apply changes: Apply');
      await stage.asked(2);
      assert.deepEqual(daemon.asked[1], {
        line: 'POST /api/routes',
        body: {
          document: 'mode exclude\n10.0.0.0/8\n192.168.1.0/24\n',
          cause: 'edit',
          ifRevision: 'a',
          confirmWithin: 30,
        },
      });
      await find('No preview yet');
    });

    test('have a field to ask whether a target would go through the tunnel', async () => {
      await stage.turn('routes');
      await stage.enter('Does this site use WARP?', 'example.com');
      await press('Does this site use WARP?: Check');
      await find('Bypasses WARP');
      const about = /^example\.com · 192\.0\.2\.1\n.*\nThe kernel sends/s;
      assert.ok((await stage.names()).some(name => about.test(name)));
      // the card of the answer is whole, with its shadow
      const place = async (name: string) => (await stage.ask({ do: 'place', name })) as number[];
      await until(async () => {
        const [, top, , height] = await place('Bypasses WARP');
        const [, next] = await place('Edit as Text');
        return top! + height! + 12 <= next!;
      }, 'the whole answer above what follows');
    });
  });

  describe('changes that revert', () => {
    const soon = (seconds: number) => new Date(Date.now() + 1000 * seconds).toISOString();
    const unconfirmed = () => change('mode', { value: 'doh', confirmBy: soon(600) });
    beforeEach(() => {
      daemon.onAsked = () => ({ ok: true, changes: [] });
    });
    after(() => daemon.setChanges([]));

    test('count down across every page, and are kept or reverted', async () => {
      for (const [button, line] of [
        ['Keep', 'POST /api/changes/confirm'],
        ['Revert Now', 'POST /api/changes/revert'],
      ] as const) {
        daemon.asked = [];
        daemon.setChanges([unconfirmed()]);
        await find('Keep this change?');
        await find('Mode: DNS only');
        await stage.turn('preferences');
        await until(async () => (await stage.names()).some(name => /^Reverting in 9:\d\d$/.test(name)), 'the clock');
        await press(button);
        await stage.asked(1);
        assert.deepEqual(daemon.asked[0], { line, body: { subject: 'mode' } });
        daemon.setChanges([]);
        await gone('Keep this change?');
      }
    });

    test('count down while nothing else moves', async () => {
      daemon.setChanges([unconfirmed()]);
      await stage.turn('mode');
      const shown = async () => (await stage.names()).find(name => name.startsWith('Reverting in'));
      await find('Keep this change?');
      const first = await shown();
      await until(async () => (await shown()) !== first, 'the countdown to move');
      daemon.setChanges([]);
      await gone('Keep this change?');
    });

    test('can be a tunnel that is off for a while, which is extended and ended', async () => {
      daemon.set('status', { state: 'connected' });
      daemon.onAction = () => {
        daemon.setChanges([change('connection', { value: 'off', endsAt: soon(900) })]);
        daemon.set('status', { state: 'disconnected' });
      };
      await press('Pause WARP: 15 minutes');
      await stage.acted(1);
      assert.deepEqual(daemon.actions[0], { action: 'disconnect', forSeconds: 900 });
      await press('15 Minutes More');
      await stage.asked(1);
      const { line, body } = daemon.asked[0] as { line: string; body: { subject: string; seconds: number } };
      assert.deepEqual([line, body.subject], ['POST /api/changes/extend', 'connection']);
      assert.ok(body.seconds > 1700 && body.seconds <= 1800, String(body.seconds));
      await until(async () => (await stage.names()).some(name => /^1[45]:\d\d left$/.test(name)), 'the time left');
      assert.ok((await stage.names()).some(name => /^Back on at .*\d\d:\d\d\. Your traffic bypasses WARP/.test(name)));
      assert.ok((await stage.names()).includes('Paused'));
      await press('Connect Now');
      await stage.acted(2);
      assert.deepEqual(daemon.actions[1], { action: 'connect' });
      daemon.setChanges([]);
      await gone('15 Minutes More');
    });

    test('draw a ring around the icon until they end, and give the keyboard back', async () => {
      const ringed = async () => ((await stage.ask({ do: 'types' })) as string[]).includes('CulvertRing');
      assert.equal(await ringed(), false);
      daemon.setChanges([unconfirmed()]);
      await find('Keep this change?');
      assert.equal(await ringed(), true);
      daemon.setChanges([change('mode', { value: 'doh', endsAt: soon(900) })]);
      await find('End Now');
      assert.equal(await ringed(), true);
      await stage.ask({ do: 'focus', name: 'End Now' });
      await press('End Now');
      await stage.asked(1);
      assert.deepEqual(daemon.asked[0], { line: 'POST /api/changes/revert', body: { subject: 'mode' } });
      daemon.setChanges([]);
      await gone('End Now');
      assert.equal(await ringed(), false);
      assert.equal(await stage.ask({ do: 'focused' }), 'Connect');
    });
  });

  describe('the focus', () => {
    /** A page, a control of it, the key that uses it, and what is typed first. */
    const cases: [page: PageName, control: string, key?: string, typed?: string][] = [
      ['connection', 'Connect'],
      ['mode', 'All traffic, your own DNS'],
      ['dns', 'Add a domain', 'Return', 'corp.example'],
      ['networks', 'All Wi-Fi networks'],
      ['mode', 'Default protocol: Reset'],
      ['killswitch', 'Allow local network'],
      ['apps', 'Start Mail'],
    ];
    const taker = (name: string) => stage.ask({ do: 'focusable', name }) as Promise<Control>;
    const reach = async (name: string) => {
      await stage.ask({ do: 'focus', name });
      assert.equal((await taker(name)).focused, true);
    };

    for (const [page, control, key = 'space', typed] of cases)
      test(`“${control}” has the focus again after it was used by keyboard`, async () => {
        let finish = () => {};
        const wait = () =>
          new Promise<void>(resolve => {
            finish = resolve;
          });
        daemon.onAction = wait;
        daemon.onAsked = asked => wait().then(() => succeed(asked));
        daemon.apps = [app('mail', 'Mail', { categories: ['Email'] })];
        if (page === 'killswitch') daemon.set('killSwitch', { enabled: true, active: true });
        if (page === 'apps') daemon.set('settings', { Mode: 'proxy' });
        await stage.turn(page);
        if (page === 'apps') stage.key('ctrl+r');
        await reach(control);
        if (typed) type(typed);
        stage.key(key);
        await until(() => daemon.actions.length + daemon.asked.length > 0, 'a request');
        await until(async () => !(await taker(control)).sensitive, 'an insensitive control');
        finish();
        daemon.set('settings', { ...daemon.snapshot.settings });
        await until(async () => (await taker(control)).sensitive, 'a sensitive control');
        await until(async () => (await taker(control)).focused, 'the focus');
      });

    test('stays where the user put it in the meantime', async () => {
      daemon.onAction = () => {};
      await stage.turn('mode');
      await reach('All traffic, your own DNS');
      stage.key('space');
      await stage.acted(1);
      await until(async () => !(await taker('All traffic')).sensitive, 'an insensitive control');
      await reach('Back');
      daemon.set('settings', { Mode: 'tunnel_only' });
      await find('Mode changed');
      assert.equal((await taker('Back')).focused, true);
    });
  });

  describe('a form', () => {
    test('keeps what is typed, and the keyboard, while rows come and go above', async () => {
      daemon.set('options', { gatewayId: null });
      await stage.turn('dns');
      await stage.enter('Location ID', 'abc');
      await stage.ask({ do: 'focus', name: 'Location ID' });
      const typed = async () => (await stage.names()).includes('abc');
      for (const gatewayId of ['first', null]) {
        daemon.set('options', { gatewayId });
        await (gatewayId ? find('In use') : gone('In use'));
        assert.equal(await typed(), true);
        assert.equal(await stage.ask({ do: 'focused' }), 'abc');
      }
      await stage.enter('Location ID', '');
    });

    test('keeps the keyboard while a group comes and goes above, in the order of the groups', async () => {
      await stage.turn('connection');
      await stage.ask({ do: 'focus', name: 'Mode' });
      const top = async (name: string) => ((await stage.ask({ do: 'place', name })) as number[])[1]!;
      const end = (ms: number) => ({ value: 'doh', endsAt: new Date(Date.now() + ms).toISOString() });
      daemon.setChanges([change('routes', end(900_000)), change('mode', end(990_000))]);
      await find('More time');
      assert.ok((await top('More time')) < (await top('Mode')));
      assert.equal(await stage.ask({ do: 'focused' }), 'Mode');
      daemon.setChanges([]);
      await gone('More time');
      assert.equal(await stage.ask({ do: 'focused' }), 'Mode');
    });
  });
});
