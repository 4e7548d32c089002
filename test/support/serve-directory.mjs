// Serves a directory over HTTP, in a process of its own for tests that wait for a client: node serve-directory.mjs DIRECTORY PORT
// It tells no times, so that a client reads a file again that was replaced within a second.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const [directory, port] = process.argv.slice(2);
createServer((request, response) => {
  const file = join(directory, decodeURIComponent(new URL(request.url, 'http://x').pathname));
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) return response.writeHead(404, { 'content-length': 0 }).end();
  response.writeHead(200, { 'content-length': found.size });
  return createReadStream(file).pipe(response);
}).listen(Number(port), '127.0.0.1');
