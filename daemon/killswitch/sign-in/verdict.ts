// Pure: whether a network has a login page, from the answers of three pages of different operators.

/** A page with a fixed answer. */
export interface Target {
  url: string;
  status: number;
  body: string;
}

/** The pages that Android, Firefox and GNOME ask. A network may let one of them through before the login. */
export const TARGETS: readonly Target[] = [
  { url: 'http://connectivitycheck.gstatic.com/generate_204', status: 204, body: '' },
  { url: 'http://detectportal.firefox.com/success.txt', status: 200, body: 'success' },
  { url: 'http://nmcheck.gnome.org/check_network_status.txt', status: 200, body: 'NetworkManager is online' },
];

/** A server with a certificate of a public authority, for a network on which nothing answers plain HTTP. */
export const SECURE = { host: 'connectivitycheck.gstatic.com', port: 443 } as const;

/** More than any expected answer; login pages are longer. */
export const MAX_BODY_BYTES = 1_024;

/** `login`: something else answered in the place of the page; `silent`: nothing did, or an error. */
export interface Answer {
  result: 'open' | 'login' | 'silent';
  /** Address that a redirect leads to. */
  location: string | null;
}

export interface Verdict {
  network: 'open' | 'login' | 'unreachable';
  loginPage: string | null;
}

export const UNREACHABLE: Verdict = { network: 'unreachable', loginPage: null };
export const SILENT: Answer = { result: 'silent', location: null };

interface Reply {
  status: number;
  body: string;
  location: string | null;
}

/** RFC 6585: Network Authentication Required. */
const NETWORK_LOGIN = 511;
const ENOUGH = 2;

/** One unexpected answer shows a login page. An open network takes two expected answers. */
export function judge(answers: readonly Answer[]): Verdict {
  const logins = answers.filter(({ result }) => result === 'login');
  if (logins.length > 0) {
    return { network: 'login', loginPage: logins.find(({ location }) => location !== null)?.location ?? null };
  }
  const open = answers.filter(({ result }) => result === 'open').length;
  return open >= ENOUGH ? { network: 'open', loginPage: null } : UNREACHABLE;
}

/** A network that replaces the host's certificate has a login page. @param isTrusted the certificate is the host's */
export function judgeCertificate(isTrusted: boolean, host: string): Verdict {
  return isTrusted ? { network: 'open', loginPage: null } : { network: 'login', loginPage: `https://${host}/` };
}

/** Compares status and body exactly, but for the line end. */
export function answerOf(target: Target, { status, body, location }: Reply): Answer {
  if (status === target.status && body.trimEnd() === target.body) return { result: 'open', location: null };
  const isLogin = status === NETWORK_LOGIN || (status >= 200 && status < 400);
  return isLogin ? { result: 'login', location: httpAddress(location) } : SILENT;
}

/** The network chose this address, so that only one of a web page is opened. */
function httpAddress(location: unknown): string | null {
  return typeof location === 'string' && /^https?:\/\/[\x21-\x7e]{1,2000}$/i.test(location) ? location : null;
}

/** Reads a whole answer in HTTP/1.1 (RFC 9112), or as much of it as came. @returns null for anything else */
export function parseReply(text: string): Reply | null {
  const end = text.indexOf('\r\n\r\n');
  const [, status] = /^HTTP\/1\.[01] (\d{3})/.exec(text) ?? [];
  if (status === undefined || end < 0) return null;
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  const location = /^location:[ \t]*(.*?)[ \t]*$/im.exec(head)?.[1] ?? null;
  return { status: Number(status), body: /^transfer-encoding:.*chunked/im.test(head) ? joined(body) : body, location };
}

/** The text of chunks. */
function joined(chunks: string): string {
  let text = '';
  for (let rest = chunks; ; ) {
    const [line = '', size] = /^([\da-f]{1,8})[^\r\n]*\r\n/i.exec(rest) ?? [];
    const bytes = Number.parseInt(size ?? '0', 16);
    if (bytes === 0) return text;
    text += rest.slice(line.length, line.length + bytes);
    rest = rest.slice(line.length + bytes + 2);
  }
}

/** A verdict as another process gave it. @returns null for anything else */
export function verdictIn(value: unknown): Verdict | null {
  const { network, loginPage } = (value ?? {}) as { [K in keyof Verdict]?: unknown };
  if (network === 'login') return { network, loginPage: httpAddress(loginPage) };
  return network === 'open' || network === 'unreachable' ? { network, loginPage: null } : null;
}
