// The preview of a document: what it would change, and what it warns of.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SplitTunnel } from '../../../daemon/api/schema.ts';
import { parseDocument } from '../../../daemon/routes/document.ts';
import { NO_SURROUNDINGS, preview, type Surroundings } from '../../../daemon/routes/preview.ts';

const list = (mode: SplitTunnel['mode'], ips: string[], hosts: string[] = []): SplitTunnel => ({
  mode,
  ips: ips.map(value => ({ value, description: null })),
  hosts: hosts.map(value => ({ value, description: null })),
});
const added = (text: string, current: SplitTunnel, around?: Partial<Surroundings>) =>
  preview(parseDocument(text), current, { ...NO_SURROUNDINGS, ...around });

test('finds what is added, removed and unchanged, by meaning rather than by spelling', () => {
  const { add, remove, unchanged } = added(
    '10.9.9.9/8\n192.0.2.1\nNEW.example\n',
    list('exclude', ['10.0.0.0/8', '192.0.2.1/32', '172.16.0.0/12'], ['old.example']),
  );
  assert.deepEqual(
    [add.map(e => e.value), remove.map(e => e.value), unchanged],
    [['new.example'], ['172.16.0.0/12', 'old.example'], 2],
  );
});

test('names repeated and contained entries with their lines', () => {
  const { duplicates, contained, add } = added(
    '10.0.0.0/8\n10.1.0.0/16\n10.0.0.0/8\nfd00::1\nfd00::/8\n',
    list('exclude', []),
  );
  assert.deepEqual(duplicates, [{ line: 3, value: '10.0.0.0/8', first: 1 }]);
  assert.deepEqual(contained, [
    { line: 2, value: '10.1.0.0/16', in: '10.0.0.0/8' },
    { line: 4, value: 'fd00::1', in: 'fd00::/8' },
  ]);
  assert.equal(add.length, 4);
});

test('refuses a mode other than the present mode, which warp-cli cannot change', () => {
  assert.match(added('mode include\n', list('exclude', [])).invalid[0]!.reason, /no command to change/);
  assert.deepEqual(added('mode exclude\n', list('exclude', [])).invalid, []);
  assert.deepEqual(added('mode include\n', list(null, [])).invalid, [], 'nothing is known to differ');
});

describe('warns', () => {
  const codes = (text: string, current: SplitTunnel, around: Partial<Surroundings>) =>
    added(text, current, around).warnings.map(({ code, value }) => `${code} ${value}`);

  test('when the SSH session’s peer changes sides, in either direction', () => {
    const around = { sshPeer: '203.0.113.9', connected: true };
    assert.deepEqual(codes('203.0.113.0/24\n', list('exclude', []), around), ['ssh-peer 203.0.113.9']);
    assert.deepEqual(codes('', list('exclude', ['203.0.113.0/24']), around), ['ssh-peer 203.0.113.9']);
    assert.deepEqual(codes('203.0.113.9\n', list('exclude', ['203.0.113.0/24']), around), []);
    assert.deepEqual(codes('203.0.113.9\n', list('include', []), around), ['ssh-peer 203.0.113.9']);
    // while the tunnel is down, only an entry that will move the session into it counts
    const down = { sshPeer: '203.0.113.9', connected: false };
    assert.deepEqual(codes('203.0.113.0/24\n', list('exclude', []), down), []);
    assert.deepEqual(codes('', list('exclude', ['203.0.113.0/24']), down), ['ssh-peer 203.0.113.9']);
  });

  test('when the gateway or a resolver goes into the tunnel', () => {
    const around = { gateways: ['192.168.1.1'], resolvers: ['192.168.1.1', '9.9.9.9'] };
    assert.deepEqual(codes('', list('exclude', ['192.168.0.0/16']), around), [
      'gateway 192.168.1.1',
      'resolver 192.168.1.1',
    ]);
    assert.deepEqual(codes('192.168.0.0/16\n', list('exclude', []), around), ['resolver 192.168.1.1']);
  });

  test('when a printer that is connected now goes into the tunnel', () => {
    const around = { printers: ['192.168.1.40'] };
    assert.deepEqual(codes('', list('exclude', ['192.168.0.0/16']), around), ['printer 192.168.1.40']);
    assert.deepEqual(codes('192.168.0.0/16\n', list('include', []), around), ['printer 192.168.1.40']);
    assert.deepEqual(codes('192.168.1.0/24\n', list('exclude', ['192.168.0.0/16']), around), []);
    assert.deepEqual(codes('192.168.0.0/16\n', list('exclude', []), around), []);
  });

  test('when the tunnel’s own endpoint is named in an include list, or no longer in the other', () => {
    const around = { endpoints: ['162.159.198.2'] };
    assert.deepEqual(codes('162.159.198.0/24\n', list('include', []), around), ['endpoint 162.159.198.2']);
    assert.deepEqual(codes('162.159.198.0/24\n', list('exclude', []), around), []);
    assert.deepEqual(codes('', list('exclude', ['162.159.198.2/32']), around), ['endpoint 162.159.198.2']);
  });

  test('when everything is listed, and when hosts are listed without the client’s DNS', () => {
    assert.deepEqual(codes('0.0.0.0/0\n', list('exclude', []), {}), ['everything 0.0.0.0/0']);
    assert.deepEqual(codes('128.0.0.0/1\n0.0.0.0/1\n2000::/3\n', list('exclude', []), {}), [
      'everything 0.0.0.0/0',
      'everything ::/0',
    ]);
    assert.deepEqual(codes('128.0.0.0/1\n', list('exclude', []), {}), []);
    assert.deepEqual(codes('a.example\n', list('exclude', []), { clientMode: 'tunnel_only' }), [
      'hosts-need-dns a.example',
    ]);
  });
});

test('compares 5,000 entries with 5,000 others', () => {
  const entries = (offset: number) =>
    Array.from({ length: 5000 }, (_, i) => `10.${(i + offset) >> 8}.${(i + offset) & 255}.0/24`);
  const { add, remove, unchanged } = added(`${entries(2500).join('\n')}\n`, list('exclude', entries(0)));
  assert.deepEqual([add.length, remove.length, unchanged], [2500, 2500, 2500]);
});
