// Tells an answer of what stands in front of a provider (a proxy, a login page, an inspection) from the provider's own. It says nothing
// about an account. Pure.
import type { IncomingHttpHeaders } from 'node:http';

/** For a person. */
export const FOREIGN_NOTE =
  'a proxy, a filter or a login page on the way has answered in place of the provider, so this says nothing about the account. No other account is tried.';

/** Logins of a proxy or a page; no provider of the catalog asks for its key in one of these. */
const OTHER_LOGIN = /\b(?:Basic|Digest|NTLM|Negotiate|Kerberos)\b/i;
/** Programs in between that name themselves; one that passes an answer on keeps the name of the provider's server. */
const GATEKEEPER =
  /\b(?:squid|zscaler|netskope|blue ?coat|forcepoint|websense|mcafee|skyhigh|forti(?:gate|guard|proxy|web)|palo ?alto|barracuda|sophos|iboss|menlo|ironport|umbrella|check ?point|smoothwall|lightspeed|securly)/i;
/** The start of a page: behind a byte order mark, a declaration of XML and comments. Errors of storage services are XML, and no page. */
const PAGE =
  /^(?:\uFEFF|\s|<\?xml[^>]*>|<!--[\s\S]{0,2000}?-->)*<(?:!doctype\s+html|(?:html|head|title|meta|body|script|center|h1|div|p)\b)/i;
/** A page within the words of a tool, or a login that it could not do. */
const IN_TEXT = /<(?:!doctype html|html|head|title)\b|\bneed: (?:Digest|NTLM|Negotiate|Kerberos)\b/i;

/** Reports whether an answer over HTTP is not the provider's. @param keyScheme by which the provider itself asks for its key */
export function isForeign(
  { status, body, headers }: { status: number; body: string; headers: IncomingHttpHeaders },
  { key_scheme: keyScheme }: { key_scheme: string },
): boolean {
  if (status === 407 || status === 511 || headers['proxy-authenticate'] !== undefined) return true;
  const login = headers['www-authenticate'];
  if (login !== undefined && OTHER_LOGIN.test(String(login)) && !OTHER_LOGIN.test(keyScheme)) return true;
  const isOfGatekeeper =
    GATEKEEPER.test(String(headers.server ?? '')) ||
    Object.keys(headers).some(name => /^x-(?:squid-error|netskope)/.test(name));
  return (
    isOfGatekeeper ||
    /^(?:text\/html|application\/xhtml|application\/captive\+json)/i.test(headers['content-type'] ?? '') ||
    PAGE.test(body) ||
    isOfCloudflare(body)
  );
}

/** Reports whether what a tool printed about a refusal holds a page, or a login of a proxy. */
export function isForeignText(text: string): boolean {
  return IN_TEXT.test(text);
}

/**
 * Reports whether Cloudflare has answered in front of the provider, which is about the address that asks: with a line for programs, or
 * with a document (developers.cloudflare.com, "Cloudflare 1xxx errors").
 */
function isOfCloudflare(body: string): boolean {
  return /^error code: 1\d{3}\s*$/.test(body) || /"cloudflare_error":\s*true/.test(body);
}
