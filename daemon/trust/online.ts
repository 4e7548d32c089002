// Has tools connect to a real host, and reads from what they print whether they accept its certificate.
import { execFile } from 'node:child_process';
import { connect, type TLSSocket } from 'node:tls';
import type { TrustOnline } from '../api/trust.ts';
import type { Message } from '../api/values.ts';
import { redact } from '../state/redact.ts';
import { reason } from '../system/errno.ts';
import { printable } from '../system/printable.ts';
import { message } from '../view/message.ts';
import { type Certificate, nameIn } from './certificates.ts';
import { TrustError } from './errors.ts';
import type { Command, Target } from './probe.ts';

const CONNECT_MS = 15_000;
const TOOL_MS = 30_000;
const LINE_LENGTH = 200;

export interface Site extends TrustOnline {
  /** Runs the command for the host. @param directory for what a program downloads */
  judge(make: (target: Target) => Command, directory: string): Promise<{ accepts: boolean | null; wording: Message }>;
}

/**
 * @param address a host, or a host and a port @param authorities the organization's certificates
 * @throws TrustError where nothing answers with TLS there
 */
export async function openSite(
  address: string,
  authorities: readonly Certificate[],
  signal: AbortSignal,
): Promise<Site> {
  const { hostname: host, port: given } = new URL(`https://${address}`);
  const port = Number(given || 443);
  const { issuer, inspected } = await lookAt({ host, port }, authorities);
  return {
    host: address,
    issuer,
    inspected,
    async judge(make, directory) {
      const command = make({ url: `https://${address}`, host, port, path: '/', directory });
      const { code, output: raw } = await runAndRead(command, signal);
      // before a line is taken out: a secret may have several, and one that is cut would no longer be found
      const output = withoutSecrets(raw, command.env);
      const refusal = output.split('\n').find(line => REFUSALS.test(line));
      if (refusal !== undefined)
        return {
          accepts: false,
          wording: message('It refuses the certificate of %s: %s', address, shorten(refusal)),
        };
      if (code === 0 || ANSWERS.test(output))
        return { accepts: true, wording: message('It accepts the certificate of %s.', address) };
      const last = shorten(output.trim().split('\n').at(-1) ?? '');
      return {
        accepts: null,
        wording: message('It did not show whether it accepts the certificate of %s: %s', address, last),
      };
    },
  };
}

/** Lines of programs that do not accept a certificate: OpenSSL, GnuTLS, Rustls, Node and Java have words of their own. */
const REFUSALS =
  /certificate verif|CERTIFICATE_VERIFY|certificate problem|verify error|UNABLE_TO_(?:GET|VERIFY)|SELF_SIGNED|cannot verify .* certificate|certificate .* is not trusted|invalid peer certificate|PKIX path|unknown (?:issuer|authority)/i;
/** Lines of programs that were answered, only not with what they wanted. */
const ANSWERS =
  /\b(?:HTTP\/[\d.]+|error:?|got|list:|E) ?\(?[1-5]\d\d\b|repository '.*' not found|not found in registry|no matching distribution|not valid.*info\/refs/i;

function lookAt(
  { host, port }: { host: string; port: number },
  authorities: readonly Certificate[],
): Promise<Pick<TrustOnline, 'issuer' | 'inspected'>> {
  return new Promise((resolve, reject) => {
    // nothing is sent; the tools are what verifies
    const options = { host, port, servername: host, rejectUnauthorized: false, ca: authorities.map(({ pem }) => pem) };
    const socket: TLSSocket = connect(options, () => {
      const { issuer = {} } = socket.getPeerCertificate();
      const subject = Object.entries(issuer).map(([key, value]) => `${key}=${[value].flat().join(' ')}`);
      resolve({ issuer: nameIn(subject.join('\n')), inspected: authorities.length > 0 && socket.authorized });
      socket.destroy();
    });
    const fail = (why: string, cause?: unknown) => {
      socket.destroy();
      reject(new TrustError('failed', `${host} does not answer with TLS: ${why}`, undefined, cause));
    };
    socket.setTimeout(CONNECT_MS, () => fail(`no answer within ${CONNECT_MS / 1000} s`));
    socket.on('error', error => fail(reason(error), error));
  });
}

function runAndRead(
  { program, args, env, input }: Command,
  signal: AbortSignal,
): Promise<{ code: number | null; output: string }> {
  return new Promise(resolve => {
    // settings of the directory that this process runs in count for npm, uv and Cargo
    const options = {
      env: { ...env, LC_ALL: 'C' },
      cwd: '/',
      signal,
      timeout: TOOL_MS,
      killSignal: 'SIGKILL',
    } as const;
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code) || null, output: `${stdout}\n${stderr}` }),
    );
    child.stdin?.on('error', () => {}).end(input);
  });
}

/**
 * Output of a program, which may repeat the address of a proxy with its password, in a form of its own.
 * @param env of the program
 */
function withoutSecrets(output: string, env: NodeJS.ProcessEnv = {}): string {
  return redact(
    output,
    Object.entries(env).flatMap(([name, value]) => (/_proxy$/i.test(name) && value ? userIn(value) : [])),
  );
}

const shorten = (line: string) => printable(line.trim().slice(0, LINE_LENGTH));

/** User and password in the address of a proxy, as they are written, decoded and in lower case. */
function userIn(address: string): string[] {
  const [, user] = /^(?:[a-z][a-z\d+.-]*:\/\/)?(.*)@/is.exec(address) ?? [];
  if (user === undefined) return [];
  const forms = [user, user.replace(/^[^:]*:/, ''), ...user.split(/[:@/]/)];
  return [...new Set([...forms, ...forms.map(decoded), ...forms.map(each => each.toLowerCase())])];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
