// Kinds of rows in the panel, in a window that shows only the form of the test.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { missing } from '../support/gnome/desktop.ts';
import { stage, usePages } from '../support/gnome/pages.ts';
import { until } from '../support/until.ts';

const TITLE = 'A form';

describe('rows', { skip: missing('xdotool'), concurrency: false }, () => {
  const { find } = usePages();
  const show = async (...groups: object[]) => {
    await stage.ask({ do: 'form', name: TITLE, text: JSON.stringify({ groups }) });
    await find(TITLE);
    await stage.settled();
  };
  /** Returns the commands since the last call, once there is one. */
  const next = async (what: string) => {
    let asked: { text: string }[] = [];
    await until(async () => {
      asked = (await stage.ask({ do: 'ran' })) as typeof asked;
      return asked.length > 0;
    }, what);
    return asked;
  };
  const windowId = () => stage.x('search', '--onlyvisible', '--name', `^${TITLE}$`).split('\n').at(-1)!;
  const key = (chord: string) => {
    stage.x('windowfocus', '--sync', windowId());
    stage.x('key', '--clearmodifiers', chord);
  };

  test('a value is shown as code only while it is long', async () => {
    const fact = { kind: 'fact', id: 'a', title: 'Value' };
    const value = '2f0b9d1e-6c5a-4b7e-9d3f-8a1c0e4b7d26';
    await show({ id: 'one', rows: [{ ...fact, value }] });
    assert.ok(((await stage.ask({ do: 'classes', name: value })) as string[]).includes('monospace'));
    await show({ id: 'one', rows: [{ ...fact, value: 'short', subtitle: 'Words below' }] });
    assert.equal(((await stage.ask({ do: 'classes', name: 'Words below' })) as string[]).includes('monospace'), false);
  });

  /** Place of a text: left, top, width, height. */
  const place = async (name: string) => (await stage.ask({ do: 'place', name })) as [number, number, number, number];

  test('a mark that is gone leaves its room to the words', async () => {
    const [row, other] = ['a', 'b'].map(id => ({ kind: 'note', id, title: id, subtitle: `Words of ${id}` }));
    const indent = async () => (await place('Words of a'))[0] - (await place('Words of b'))[0];
    await show({ id: 'one', rows: [{ ...row, tone: 'warning' }, other] });
    await until(async () => (await indent()) > 0, 'room for the mark');
    await show({ id: 'one', rows: [row, other] });
    await until(async () => (await indent()) === 0, 'no room for it');
  });

  test('in large letters, long words leave room for a choice and a value, and a button for words', async () => {
    const command = { ask: { kind: 'proof' } };
    const shared = {
      menu: [{ label: 'Remove', command }],
      subtitle: 'Words that take all the width of their row, and more of it on further lines',
    };
    const options = [{ value: 'x', label: 'Paused' }];
    await stage.ask({ do: 'scale', text: '1.6' });
    await show({
      id: 'large',
      rows: [
        { ...shared, kind: 'select', id: 'a', title: 'A', value: 'x', options },
        { ...shared, kind: 'fact', id: 'b', title: 'B', value: '59 min' },
        {
          ...shared,
          kind: 'button',
          id: 'c',
          title: 'C',
          subtitle: 'Untranslatable',
          tone: 'warning',
          label: 'Use This Account',
          command,
        },
        { kind: 'fact', id: 'd', title: 'D', value: '58 min' },
        { kind: 'note', id: 'e', title: 'E', subtitle: 'A word' },
      ],
    });
    const cut = async () => ((await stage.ask({ do: 'texts' })) as { cut: boolean }[]).some(each => each.cut);
    await until(async () => !(await cut()), 'the whole choice');
    await until(async () => (await place('59 min'))[2] === (await place('58 min'))[2], 'a value on one line');
    await until(async () => (await place('Untranslatable'))[3] === (await place('A word'))[3], 'a word on one line');
    await stage.ask({ do: 'scale', text: '1' });
  });

  test('a row moves by Alt with an arrow key, from the place that was asked for last, and by drag', async () => {
    const rows = ['a', 'b', 'c', 'd'].map(id => ({
      kind: 'button',
      id,
      title: `Row ${id}`,
      label: 'Use',
      command: { ask: { kind: 'proof' } },
    }));
    const group = (...ids: string[]) => ({ id: 'ordered', rows, order: { ids } });
    await show(group('a', 'b', 'c', 'd'));
    await stage.ask({ do: 'focus', name: 'Row a: Use' });
    key('alt+Down');
    let asked = await next('a move');
    assert.deepEqual(asked, [{ kind: 'copy', text: 'a to 1' }]);
    // the rows are as before until the daemon has answered
    await show(group('b', 'a', 'c', 'd'));
    key('alt+Down');
    asked = await next('a further move');
    assert.deepEqual(asked, [{ kind: 'copy', text: 'a to 2' }]);

    await show(group('a', 'b', 'c', 'd'));
    const middle = async (name: string) => {
      const [left, top, width, height] = (await stage.ask({ do: 'place', name })) as [number, number, number, number];
      return [left + 40, top + height / 2, width].map(String);
    };
    const [from, to] = [await middle('Row d'), await middle('Row b')];
    stage.x('mousemove', from[0]!, from[1]!, 'mousedown', '1');
    for (const step of [1, 2, 3, 4, 5, 6]) {
      const y = Number(from[1]) + ((Number(to[1]) - Number(from[1])) * step) / 6;
      stage.x('mousemove', '--sync', to[0]!, String(Math.round(y) + (step % 2)));
      await stage.settled();
    }
    stage.x('mouseup', '1');
    asked = await next('a drag');
    assert.deepEqual(asked, [{ kind: 'copy', text: 'd to 1' }]);
  });

  test('a value between two gaps of a curve is a dot, and so is the newest', async () => {
    const figures = [{ title: 'Latency', value: '12 ms' }];
    const curve = [null, 10, null, 12, 14];
    await show({
      id: 'figures',
      rows: [{ kind: 'figures', id: 'f', title: 'Open', subtitle: 'A curve', figures, curve, page: 'history' }],
    });
    const dots = (await stage.ask({ do: 'dots', name: 'A curve' })) as number[][];
    assert.deepEqual(
      dots.map(([, , radius]) => radius),
      [1.5, 3.5],
    );
  });
});
