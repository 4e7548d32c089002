// A control of the window that can't be used has its reason in sight, in every state and on every page.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Blocked, type Snapshot } from '../../../daemon/api/schema.ts';
import { PAGE_NAMES, type PageName } from '../../../daemon/view/page-list.ts';
import { describe } from '../../../daemon/view/view.ts';
import { missing } from '../../support/gnome/desktop.ts';
import { app, richTool } from '../../support/gnome/initial.ts';
import { daemon, stage, useStage } from '../../support/gnome/pages.ts';
import { clientState, tr } from '../../support/gnome/view/translator.ts';
import { inTurn } from '../../support/thoroughness.ts';

interface Inert {
  name: string;
  reasons: string[];
}

const FREE: Partial<Snapshot['status']> = { state: 'disconnected', reason: null, blocked: null };

suite('a control that can’t be used', { skip: missing('xdotool'), concurrency: false }, () => {
  useStage(() => {
    daemon.apps = [app('calculator', 'Calculator', { kind: 'generic', method: 'none' }), app('firefox', 'Firefox')];
    daemon.tools = [richTool(Date.now())];
  }, /did not receive a focus-out event/);

  /**
   * Fails for a control without a reason on any page.
   * @param general a sentence in sight on every page, in place of a reason of the control's own
   * @returns how many controls can't be used
   */
  async function survey(
    what: string,
    general: string | null = null,
    pages: readonly PageName[] = PAGE_NAMES,
  ): Promise<number> {
    let count = 0;
    for (const page of pages) {
      await stage.turn(page);
      await stage.settled();
      if ((await stage.names()).includes('Advanced')) await stage.press('Advanced');
      const inert = (await stage.ask({ do: 'inert' })) as Inert[];
      const said = general !== null && (await stage.names()).some(name => name.startsWith(general));
      const silent = inert.filter(({ reasons }) => !said && reasons.length === 0);
      assert.deepEqual(
        silent.map(({ name }) => `${page}: ${name}`),
        [],
        what,
      );
      count += inert.length;
    }
    return count;
  }

  test('says why while nothing is wrong', async () => {
    await survey('disconnected');
  });

  test('says what has to be set up first', async () => {
    for (const [turn, blocked] of Blocked.options.entries()) {
      const status = { state: 'unable', reason: null, blocked } as const;
      const { sentence } = describe(clientState({ status }), '1', tr).tunnel;
      daemon.set('status', status);
      assert.ok((await survey(blocked, sentence, inTurn(PAGE_NAMES, turn))) > 3, blocked);
    }
    daemon.set('status', FREE);
  });

  test('says that the organization decides', async () => {
    daemon.set('status', FREE);
    daemon.set('account', { organization: 'example-team', managed: true });
    daemon.set('options', { switchLocked: true, modeLocked: true });
    assert.ok((await survey('managed')) > 2);
    daemon.set('account', { organization: null, managed: false });
    daemon.set('options', { switchLocked: false, modeLocked: false });
  });

  test('says that a change is under way', async () => {
    daemon.set('status', FREE);
    await stage.turn('connection');
    let release = () => {};
    daemon.onAction = () =>
      new Promise<void>(resolve => {
        release = resolve;
      });
    await stage.press('Connect');
    await stage.acted(1);
    assert.ok((await survey('running', 'A change is under way.', inTurn(PAGE_NAMES, 0))) > 3);
    release();
    daemon.set('status', { state: 'connected' });
    await stage.turn('mode');
    await stage.gone('A change is under way.');
  });

  test('says that the daemon is gone', async () => {
    await daemon.stop();
    await stage.turn('connection');
    await stage.shows('isn’t running');
    assert.ok((await survey('gone', 'Culvert’s background service isn’t running.', inTurn(PAGE_NAMES, 1))) > 3);
  });

  test('leaves out the button of an empty field, which asks for a value when it is pressed', async () => {
    await daemon.listen();
    daemon.set('account', { organization: null, managed: false });
    daemon.set('options', { switchLocked: false, modeLocked: false });
    await stage.turn('dns');
    await stage.press('Add a domain: Add');
    await stage.find('Fill in this field first.');
    await stage.turn('routes');
    await stage.press('Add a route');
    await stage.find('Fill in this field first.');
    assert.deepEqual(daemon.actions.slice(1), []);
    assert.deepEqual(
      daemon.asked.filter(({ line }) => !line.startsWith('GET ')),
      [],
    );
  });
});
