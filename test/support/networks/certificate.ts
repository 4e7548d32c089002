// Certificates of a TLS server, signed by their own keys.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ends, temporary } from '../temporary.ts';

export function makeCertificate(t: Ends): { key: string; cert: string; sha256: string } {
  const directory = temporary(t, 'certificate');
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  execFileSync('openssl', ['req', ...kind, '-subj', '/CN=beacon', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const printed = execFileSync('openssl', ['x509', '-in', cert, '-noout', '-fingerprint', '-sha256'], {
    encoding: 'utf8',
  });
  const sha256 = printed.split('=')[1]!.trim().replaceAll(':', '').toLowerCase();
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8'), sha256 };
}
