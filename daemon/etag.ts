// Entity tags (RFC 9110, 8.8.3 and 13.1), for the front and for Koa alike.
import { createHash } from 'node:crypto';

/** A strong ETag: the revision of what has one, else a digest of the body. */
export function etagOf(value: object, body = JSON.stringify(value)): string {
  return 'revision' in value ? `"${value.revision}"` : `"${createHash('sha1').update(body).digest('base64url')}"`;
}

/** Whether `If-None-Match` or `If-Match` names this ETag (RFC 9110, 13.1). */
export function etagMatches(header: string, etag: string): boolean {
  return header.trim() === '*' || header.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag);
}
