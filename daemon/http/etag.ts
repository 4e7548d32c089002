// Entity tags (RFC 9110, 8.8.3 and 13.1), for the front and for Koa alike.

/** The strong ETag of what a revision shows. */
export function etagOf({ revision }: { revision: number }): string {
  return `"${revision}"`;
}

/** Reports whether `If-None-Match` or `If-Match` names this ETag. */
export function etagMatches(header: string, etag: string): boolean {
  return header.trim() === '*' || header.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag);
}
