// Recognizes answers of a proxy, a login page or an inspection in front of a provider. They say nothing about an account. Pure.
import type { IncomingHttpHeaders } from 'node:http';

/** For a person. */
export const FOREIGN_NOTE =
  'a proxy, a filter or a login page on the way has answered in place of the provider, so this says nothing about the account. No other account is tried.';

/** Logins of a proxy or a page; no provider of the catalog asks for its key in one of these. */
const OTHER_LOGIN = /\b(?:Basic|Digest|NTLM|Negotiate|Kerberos|Cloudflare-Access)\b/i;
/** Programs in between that name themselves; one that passes an answer on keeps the name of the provider's server. */
const GATEKEEPER =
  /\b(?:squid|zscaler|netskope|blue ?coat|proxysg|symantec|forcepoint|websense|mcafee|skyhigh|forti(?:gate|guard|proxy|web)|palo ?alto|barracuda|sophos|iboss|menlo|ironport|cisco-wsa|umbrella|check ?point|smoothwall|lightspeed|securly|privoxy|cloudflare-gateway|big-?ip)\b/i;
/** Gateways for programs, which have keys of their own. */
const API_GATEWAY = /\b(?:kong|tyk|apigee|gravitee|krakend)\b/i;
/** Headers that only such a program sends. */
const OF_GATEKEEPER = /^(?:x-(?:squid-error|netskope|bluecoat|zscaler|mcafee|fortigate|cisco-wsa|iboss)|cf-access-)/;
/** Elements of pages that a text may begin with. */
const ELEMENT = '(?:html|head|title|meta|link|style|body|script|center|h[1-6]|div|p|br|b|table|font|form|img|pre|span)';
/** The start of a page: behind a byte order mark, a declaration of XML and comments. Errors of storage services are XML, and no page. */
const PAGE = new RegExp(
  `^(?:\\uFEFF|\\s|<\\?xml[^>]*>|<!--[\\s\\S]{0,2000}?-->)*<(?:!doctype\\s+html|wispr|WISPAccessGatewayParam|${ELEMENT}\\b)`,
  'i',
);
/** A page within the words of a tool, or what its reader of JSON says of one. */
const PAGE_IN_TEXT =
  /<(?:!doctype html|html|head|title|body)\b|\b(?:unexpected token|invalid character|unexpected character)[: ]+['"`‘“]?</i;
/** A login that a tool could not do, or a refusal of a proxy. */
const PROXY_IN_TEXT =
  /\bneed: (?:Digest|NTLM|Negotiate|Kerberos|Basic\b[^\n]{0,20}realm="?[^"\n]*(?:squid|proxy|firewall))|\bProxy[ -]Authentication[ -]Required\b|\bproxy\b[^\n]{0,40}\b407\b|\b407\b[^\n]{0,40}\b(?:proxy|tunnel)|\btunnel\w*\b[^\n]{0,60}\b(?:statusCode=|status |code )?407\b|\b(?:511 )?Network Authentication Required\b/i;

/** Reports whether an answer over HTTP is not the provider's. @param keyScheme by which the provider itself asks for its key */
export function isForeign(
  { status, body, headers }: { status: number; body: string; headers: IncomingHttpHeaders },
  { key_scheme: keyScheme }: { key_scheme: string },
): boolean {
  if (status === 407 || status === 511 || headers['proxy-authenticate'] !== undefined) return true;
  const login = headers['www-authenticate'];
  if (login !== undefined && OTHER_LOGIN.test(String(login)) && !OTHER_LOGIN.test(keyScheme)) return true;
  const isOfGatekeeper =
    GATEKEEPER.test(String(headers.server ?? '')) || Object.keys(headers).some(name => OF_GATEKEEPER.test(name));
  return (
    isOfGatekeeper ||
    /^(?:text\/html|application\/xhtml|application\/captive\+json)/i.test(headers['content-type'] ?? '') ||
    PAGE.test(body) ||
    isOfCloudflare(body) ||
    (GATEKEEPER.test(String(headers.via ?? '')) && !isOfProvider(body, headers))
  );
}

/**
 * Reports whether a 401 may be of a gateway in between, although its form is that of a provider: it says nothing, or names such a program.
 * Some providers answer the same, so a rule of the catalog comes before this.
 */
export function mayBeForeign(body: string, headers: IncomingHttpHeaders): boolean {
  const programs = `${headers.server ?? ''} ${headers['www-authenticate'] ?? ''}`;
  return body.trim() === '' || GATEKEEPER.test(body) || API_GATEWAY.test(programs);
}

/** Reports whether what a tool printed about a refusal holds a page, or a login of a proxy. */
export function isForeignText(text: string): boolean {
  return PAGE_IN_TEXT.test(text) || PROXY_IN_TEXT.test(text);
}

/** Reports whether a gatekeeper has only passed an answer on: it has the words of an error, or a header that servers of programs send. */
function isOfProvider(body: string, headers: IncomingHttpHeaders): boolean {
  return (
    /"(?:errors?|message|detail|code)"\s*:/.test(body) ||
    Object.keys(headers).some(name => /^(?:server|cf-ray|(?:x-)?request-id|(?:x-)?ratelimit)/.test(name))
  );
}

/**
 * Reports whether Cloudflare has answered in front of the provider, which is about the address that asks: with a line for programs, or
 * with a document (developers.cloudflare.com, "Cloudflare 1xxx errors").
 */
function isOfCloudflare(body: string): boolean {
  return /^error code: 1\d{3}\s*$/.test(body) || /"cloudflare_error":\s*true/.test(body);
}
