// Serves a release for a proof, as a plain web server and as the release pages of a forge do:
// node test/packages/proof/serve.mjs DIRECTORY CERTIFICATE KEY ADDRESS
// Prints the port of the web server, on loopback; the release pages are on port 443 of ADDRESS. Then one line a request.
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { basename, join } from 'node:path';

/** Host of the files of GitHub's release pages since 2025. */
const STORAGE = 'release-assets.githubusercontent.com';

/** Answers as a web server: the file that the last part of the path names. */
export function files(directory) {
  return (request, response) => {
    const file = join(directory, basename(new URL(request.url, 'http://x').pathname));
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found?.isFile()) return response.writeHead(404, { 'content-length': 0 }).end();
    response.writeHead(200, { 'content-length': found.size });
    return createReadStream(file).pipe(response);
  };
}

/**
 * Answers as release pages: the address of the newest release leads to that of a version, and that to a storage.
 * @param {string} storage its origin
 */
export function pages(storage) {
  return (request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    const location = /\/releases\/latest\/download\//.test(pathname)
      ? pathname.replace('/latest/download/', '/download/v1/')
      : `${storage}/asset/${basename(pathname)}?signature=x`;
    response.writeHead(302, { location, 'content-length': 0 }).end();
  };
}

function main([directory, certificate, key, address]) {
  const log = answer => (request, response) => {
    response.on('close', () => console.log(`${request.headers.host} ${basename(request.url)} ${response.statusCode}`));
    return answer(request, response);
  };
  const file = files(directory);
  const page = pages(`https://${STORAGE}`);
  const options = { cert: readFileSync(certificate), key: readFileSync(key) };
  createSecureServer(
    options,
    log((request, response) => (request.headers.host === STORAGE ? file : page)(request, response)),
  ).listen(443, address, () => {
    const plain = createServer(log(file)).listen(0, '127.0.0.1', () => console.log(plain.address().port));
  });
}

if (process.argv[1] === import.meta.filename) main(process.argv.slice(2));
