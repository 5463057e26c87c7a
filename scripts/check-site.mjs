// Looks at the built site as a reader does: every link and anchor leads somewhere, and in a real browser every page of the guide has its text
// without JavaScript, fits a phone and a desk, and reports no error. Screenshots lie in build/site-pictures afterwards, to be looked at.
import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { root, tryAptInstall } from './steps.mjs';

const WIDTHS = { phone: 390, desktop: 1280 };
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
};

/** Where the browser is; from Debian's archive if need and right be. */
function findBrowser() {
  const found = () =>
    [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
      (file) => file !== undefined && existsSync(file),
    );
  if (found() === undefined) tryAptInstall(['chromium']);
  return found();
}

function serve(folder) {
  const server = createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    let file = path.join(folder, path.normalize(name));
    if (existsSync(file) && statSync(file).isDirectory()) file = path.join(file, 'index.html');
    if (!file.startsWith(folder) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** Links of the site's own that lead to no file, or to no element of it. */
function brokenLinks(folder, pages) {
  const idsOf = new Map();
  const ids = (file) => {
    if (!idsOf.has(file))
      idsOf.set(
        file,
        new Set([...readFileSync(file, 'utf8').matchAll(/\s(?:id|name)="([^"]+)"/g)].map((match) => match[1])),
      );
    return idsOf.get(file);
  };
  const faults = [];
  for (const page of pages) {
    const html = readFileSync(path.join(folder, page), 'utf8');
    for (const [, link] of html.matchAll(/\s(?:href|src)="([^"]+)"/g)) {
      if (/^[a-z]+:|^\/\//.test(link)) continue;
      const [address, anchor] = link.replaceAll('&amp;', '&').split('#');
      let file = address === '' ? path.join(folder, page) : path.join(folder, path.dirname(page), address);
      if (address.startsWith('/')) file = path.join(folder, address);
      file = decodeURIComponent(file);
      if (existsSync(file) && statSync(file).isDirectory()) file = path.join(file, 'index.html');
      if (!existsSync(file)) faults.push(`${page}: nothing at ${link}`);
      else if (anchor && file.endsWith('.html') && !ids(file).has(decodeURIComponent(anchor)))
        faults.push(`${page}: no element for ${link}`);
    }
  }
  return faults;
}

async function lookAt(browser, origin, page, [name, width], faults) {
  const tab = await browser.newPage();
  await tab.setViewport({ width, height: 900 });
  tab.on('pageerror', (error) => faults.push(`${page} (${name}): ${error.message}`));
  tab.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${page} (${name}): ${message.text()}`);
  });
  await tab.goto(`${origin}/${page}`, { waitUntil: 'load' });
  const { wide, heading, empty } = await tab.evaluate(() => ({
    wide: globalThis.document.documentElement.scrollWidth - globalThis.innerWidth,
    heading: globalThis.document.querySelector('h1')?.textContent ?? '',
    empty: [...globalThis.document.images].filter((image) => image.naturalWidth === 0).map((image) => image.src),
  }));
  if (wide > 0) faults.push(`${page} (${name}): ${wide} pixels wider than the window`);
  if (heading.trim() === '') faults.push(`${page} (${name}): no heading`);
  for (const image of empty) faults.push(`${page} (${name}): no picture at ${image}`);
  const pictures = path.join(root, 'build/site-pictures');
  mkdirSync(pictures, { recursive: true });
  await tab.screenshot({ path: path.join(pictures, `${page.replaceAll(/[^a-z0-9]+/gi, '-')}-${name}.png`) });
  await tab.close();
}

/** A reader whose browser runs no scripts sees the same text. */
async function lookWithoutScripts(browser, origin, page, faults) {
  const tab = await browser.newPage();
  await tab.setJavaScriptEnabled(false);
  await tab.goto(`${origin}/${page}`, { waitUntil: 'load' });
  const text = await tab.$eval('#app', (app) => app.textContent?.trim() ?? '');
  if (text.length < 400) faults.push(`${page}: only ${text.length} characters without JavaScript`);
  await tab.close();
}

export async function checkSite(folder) {
  const pages = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.html'));
  const faults = brokenLinks(
    folder,
    pages.filter((page) => page !== '404.html'),
  );
  const browserPath = findBrowser();
  if (browserPath === undefined) {
    console.log('skipped: no browser here (set CHROMIUM to one): pages were not looked at');
  } else {
    const { default: puppeteer } = await import(
      createRequire(path.join(root, 'site/package.json')).resolve('puppeteer-core')
    );
    const browser = await puppeteer.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });
    const server = await serve(folder);
    const origin = `http://127.0.0.1:${server.address().port}`;
    // The guide; of the reference and of the sources, whose pages are all made alike, a few.
    const sample = ['reference/node-dlpack/classes/Tensor.html', 'reference/node-dlpack/index.html'];
    const guide = pages.filter((page) => page !== '404.html' && !/^(reference|source)\//.test(page));
    for (const page of [...guide, ...sample]) {
      for (const width of Object.entries(WIDTHS)) await lookAt(browser, origin, page, width, faults);
      await lookWithoutScripts(browser, origin, page, faults);
    }
    console.log(`${guide.length + sample.length} pages looked at in a browser, on a phone and at a desk`);
    server.close();
    await browser.close();
  }
  for (const fault of faults) console.error(fault);
  console.log(`${pages.length} pages, ${faults.length} faults`);
  return faults.length === 0;
}
