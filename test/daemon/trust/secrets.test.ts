// Secrets in the files of a user: no host gets them, and no answer, event, line of a terminal or log shows them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONNECTING } from '../../../daemon/trust/tools/connecting.ts';
import { findProgram } from '../../../daemon/trust/tools/tool.ts';
import { FULL } from '../../support/thoroughness.ts';
import { authority, isThere, machine } from '../../support/trust/organization.ts';
import { hasSecret, plant, VARIABLES } from '../../support/trust/secrets.ts';

/** Tools of the table that are here; a short run takes those that start fast. */
const HERE = CONNECTING.filter(({ id, programs }) => {
  if (!FULL && !['curl', 'git'].includes(id)) return false;
  if (id.startsWith('python-')) return isThere('python3', '-c', `import ${id.slice('python-'.length)}`);
  return findProgram(programs, process.env) !== null;
}).map(({ id }) => id);

test('a host that tools are tried with gets no credentials of the user, and each tool shows whether it trusts it', async t => {
  const organization = authority(t);
  const { host, heard } = await organization.serve();
  const pc = machine(t, VARIABLES(host));
  pc.install(organization);
  plant(pc.home, host);
  // the machine's own rustup, where that is what starts Cargo
  pc.env.RUSTUP_HOME = process.env.RUSTUP_HOME ?? `${process.env.HOME}/.rustup`;
  for (const shown of [/refuses the certificate/, /accepts the certificate/]) {
    const { tools } = await pc.trust().report(HERE, host);
    for (const { id, reasons } of tools) assert.match(reasons.at(-1)!, shown, id);
    assert.deepEqual(
      tools.map(({ id }) => id),
      HERE,
    );
    if (tools.some(({ applied }) => !applied)) await pc.trust().apply(HERE);
  }
  assert.ok(heard.length >= HERE.length - 1, 'each connected, but for OpenSSL without a request');
  assert.deepEqual(heard.filter(hasSecret), []);
});
