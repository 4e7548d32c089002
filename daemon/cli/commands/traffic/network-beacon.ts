// `culvert network beacon`: makes or asks a TLS server whose certificate proves a network.
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { fingerprintOf } from '../../../networks/rules/beacon.ts';
import { reason } from '../../../system/errno.ts';
import { makeDirectory } from '../../../system/files.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { EXIT, Failure, usage } from '../../errors.ts';
import { writeDocument } from '../../write-document.ts';
import { beaconAddress } from './network.ts';

const run = promisify(execFile);
const PORT = '8443';
/** Ten years: the rule names the certificate, so that a new one needs a new rule. */
const DAYS = '3650';
/** Directory on the machine that serves it. */
const INSTALLED = '/etc/culvert-beacon';

export const beacon: Run = async (context, words, options) => {
  if (options.make === undefined) return check(context, words);
  if (words.length > 0) throw usage('Give either an address, or --make and a directory.');
  return make(context, String(options.make), options);
};

async function make(context: Context, given: string, options: Options): Promise<number> {
  const port = options.port === undefined ? PORT : String(options.port);
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    throw usage(`--port is a port from 1 to 65535; not "${port}".`);
  const directory = resolve(given);
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  if (existsSync(key)) throw new Failure(`${key} already exists, and was left as it is.`);
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', DAYS];
  const names = ['-subj', '/CN=culvert-beacon', '-addext', 'subjectAltName=DNS:culvert-beacon'];
  try {
    makeDirectory(directory);
    await run('openssl', ['req', ...kind, ...names, '-keyout', key, '-out', certificate]);
    chmodSync(key, 0o600);
  } catch (error) {
    throw new Failure(`The certificate could not be made: ${reason(error).split('\n')[0]}`, { cause: error });
  }
  const unit = join(directory, 'culvert-beacon.service');
  writeDocument(unit, unitOf(port), { mode: 0o644, force: true });
  const sha256 = new X509Certificate(readFileSync(certificate)).fingerprint256.replaceAll(':', '').toLowerCase();
  show(context, { sha256, key, certificate, unit }, () =>
    [
      `Made ${key}, ${certificate} and ${unit}.`,
      'Install them on a machine of your network that is always on and has openssl and systemd:',
      `  sudo install -D -m 600 -t ${INSTALLED} key.pem certificate.pem`,
      '  sudo install -m 644 -t /etc/systemd/system culvert-beacon.service',
      '  sudo systemctl enable --now culvert-beacon',
      `Check it from here: culvert network beacon ADDRESS:${port} ${sha256}`,
      'Put into your rule:',
      `  beacon = {address = "ADDRESS:${port}", sha256 = "${sha256}"}`,
    ].join('\n'),
  );
  return EXIT.ok;
}

/**
 * The unit of a server that answers with the certificate. It serves one connection at a time, and restarts after five
 * minutes, so that a connection that is held open does not block it for long.
 */
function unitOf(port: string): string {
  return `[Unit]
Description=Proves this network to Culvert
After=network.target

[Service]
ExecStart=/usr/bin/openssl s_server -accept ${port} -cert %d/certificate -key %d/key -www -quiet -min_protocol TLSv1.2
LoadCredential=certificate:${INSTALLED}/certificate.pem
LoadCredential=key:${INSTALLED}/key.pem
Restart=always
RuntimeMaxSec=300
DynamicUser=yes
CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateDevices=yes
RestrictAddressFamilies=AF_INET AF_INET6
SystemCallFilter=@system-service
MemoryMax=64M

[Install]
WantedBy=multi-user.target
`;
}

async function check(context: Context, [host = '', given]: readonly string[]): Promise<number> {
  const address = beaconAddress(host);
  const expected = given?.replaceAll(':', '').toLowerCase();
  if (expected !== undefined && !/^[\da-f]{64}$/.test(expected)) throw usage('A SHA-256 has 64 hexadecimal digits.');
  const sha256 = await fingerprintOf(address).catch(error => {
    throw new Failure(`No beacon answers at ${address}: ${reason(error)}`, { cause: error });
  });
  const matches = expected === undefined ? null : sha256 === expected;
  show(context, { ok: matches !== false, address, sha256, matches }, () =>
    [
      `sha256 = "${sha256}"`,
      ...(matches === null ? [] : [matches ? 'This is the certificate.' : 'This is another certificate.']),
    ].join('\n'),
  );
  return matches === false ? EXIT.failure : EXIT.ok;
}
