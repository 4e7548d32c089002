// Each refusal of the table, at its door: what it means for the account, for how long, and with which words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalog } from '../../../../wrapper/catalog/catalog.ts';
import { cooldownFor } from '../../../../wrapper/run/choose/failures.ts';
import { classify } from '../../../../wrapper/run/rules/classify.ts';
import { verdictOf } from '../../../../wrapper/run/rules/http-errors.ts';
import { verdictOf as verdictOfMcp } from '../../../../wrapper/run/rules/mcp-errors.ts';
import { readMessages } from '../../../../wrapper/run/rules/mcp-messages.ts';
import { noteText } from '../../../../wrapper/run/rules/notes.ts';
import type { Verdict } from '../../../../wrapper/store/cooldown.ts';
import { REFUSALS, REFUSED_AT, type RefusalCase } from '../../../support/wrapper/refusals/refusals.ts';

const shipped = fileURLToPath(new URL('../../../../wrapper/catalog/providers.toml', import.meta.url));
const { providers } = loadCatalog(shipped, '');

function verdict({ cli, door, status = 0, headers = {}, body = '', ...more }: RefusalCase): Verdict | undefined {
  const provider = providers[cli]!;
  const { exit = 1, stdout = '', stderr = '', answer = {} } = more;
  if (door === 'gateway') return verdictOf({ status, headers, body }, provider.http!, false);
  if (door === 'shim') return classify({ exit, signal: null, stdout, stderr, command: '' }, provider.rules);
  const [message] = readMessages(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer })));
  return verdictOfMcp(message!, { rules: provider.mcp.flatMap(({ rules }) => rules) });
}

function meaning(found: Verdict | undefined): RefusalCase['means'] {
  if (found?.kind === 'retry') return found.check ? 'check' : found.class;
  return found?.kind === 'final' && found.note !== undefined ? 'other' : 'none';
}

for (const [index, row] of REFUSALS.entries())
  test(`refusal ${index}, at the ${row.door} of ${row.cli}: ${row.source}`, () => {
    const found = verdict(row);
    assert.equal(meaning(found), row.means);
    const note = found?.kind === 'success' ? undefined : found?.note;
    if (row.words && note !== undefined) assert.match(noteText(row.cli, note, {}), row.words);
    if (found?.kind === 'retry') {
      assert.equal(found.left, row.left);
      if (row.pause === undefined) return;
      const { until } = cooldownFor(found, null, REFUSED_AT);
      assert.equal(Math.round(until! - REFUSED_AT), Math.round(row.pause));
    }
  });
