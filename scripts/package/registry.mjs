// A registry on this machine that has our tarball, and everything else from the one that npm is set up with: package managers then do what they
// will do with the published package. Some take no tarball from a path, and with one others skip what they do to a package of a registry.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

/** `url`, `asked` (the paths that were asked for) and `close()`. */
export async function startRegistry(tarball, manifest) {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  const bytes = readFileSync(tarball);
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    answer(request.url, response).catch((error) => response.writeHead(502).end(String(error)));
  });
  const file = `/${manifest.name}/-/${manifest.name}-${manifest.version}.tgz`;

  async function answer(url, response) {
    if (url === file) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
    } else if (url === `/${manifest.name}`) {
      const dist = {
        tarball: `${address()}${file}`,
        integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
        shasum: createHash('sha1').update(bytes).digest('hex'),
      };
      const versions = { [manifest.version]: { ...manifest, _id: `${manifest.name}@${manifest.version}`, dist } };
      const time = { [manifest.version]: '2020-01-01T00:00:00.000Z' };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ name: manifest.name, 'dist-tags': { latest: manifest.version }, versions, time }));
    } else {
      const found = await fetch(new URL(url.slice(1), upstream), { headers: { accept: 'application/json, */*' } });
      const type = found.headers.get('content-type') ?? 'application/octet-stream';
      response.writeHead(found.status, { 'content-type': type }).end(Buffer.from(await found.arrayBuffer()));
    }
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = () => `http://127.0.0.1:${server.address().port}`;
  return { url: address(), asked, close: () => server.close() };
}
