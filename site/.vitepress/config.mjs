// The site. What it shows is put together by scripts/docs.mjs in site/source: docs/, the reference, and the files that pages link to.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitepress';

const site = path.resolve(import.meta.dirname, '..');
const source = path.join(site, 'source');

/** The pages of a folder as entries of the sidebar, by the first heading of each. */
function pagesOf(folder) {
  return readdirSync(path.join(source, folder))
    .filter((name) => name.endsWith('.md') && !['README.md', 'index.md'].includes(name))
    .toSorted()
    .map((name) => ({
      text: name.replace(/\.md$/, '').replaceAll('-', ' '),
      link: `/${folder}/${name.replace(/\.md$/, '')}`,
    }));
}

/** Only the pages that exist: the site grows with docs/. */
function present(pages) {
  const names = new Set(readdirSync(source));
  return pages.filter(([, name]) => names.has(`${name}.md`)).map(([text, name]) => ({ text, link: `/${name}` }));
}

/** The site may lie under any folder of a host. */
const base = process.env.NODE_DLPACK_SITE_BASE ?? '/';

const has = (folder) => readdirSync(source).includes(folder);

export default defineConfig({
  title: 'node-dlpack',
  description: 'Tensors between Node.js and native code, without copying a byte: the DLPack standard for JavaScript',
  lang: 'en',
  srcDir: source,
  outDir: path.join(site, '../build/site'),
  base,
  // Plain links that work on any host of files.
  cleanUrls: false,
  lastUpdated: false,
  ignoreDeadLinks: false,
  head: [
    ['meta', { name: 'theme-color', content: '#2a62b8' }],
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}mark.svg` }],
  ],
  markdown: {
    languageAlias: { gyp: 'python' },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Recipes', link: '/recipes/README' },
      { text: 'Reference', link: '/reference/node-dlpack/' },
      { text: 'Questions', link: '/faq' },
    ],
    sidebar: [
      {
        text: 'Use it',
        items: present([
          ['Start in five minutes', 'start'],
          ['Who owns the bytes', 'ownership'],
          ['Types and options', 'types'],
          ['Threads and languages: tokens', 'tokens'],
          ['Python in the same process', 'python'],
          ['Files', 'files'],
          ['The command line', 'command-line'],
          ['Finding out what happens', 'debugging'],
          ['unsafe', 'unsafe'],
          ['Questions', 'faq'],
        ]),
      },
      {
        text: 'Recipes',
        collapsed: true,
        items: [{ text: 'all of them', link: '/recipes/README' }, ...pagesOf('recipes')],
      },
      {
        text: 'Know it',
        items: present([
          ['What was exchanged with what', 'interop'],
          ['Performance', 'performance'],
          ['Reliability', 'reliability'],
          ['The ownership model', 'ownership-model'],
          ['Runtimes', 'runtimes'],
          ['Targets', 'targets'],
          ['The protocol for JavaScript', 'protocol'],
        ]),
      },
      ...(has('errors') ? [{ text: 'Errors', collapsed: true, items: pagesOf('errors') }] : []),
      {
        text: 'Build on it',
        items: present([
          ['For authors of addons', 'addon-authors'],
          ['The house in one page', 'architecture'],
          ['Contributing', 'CONTRIBUTING'],
          ['Upgrading', 'UPGRADING'],
          ['Security', 'SECURITY'],
          ['Changelog', 'CHANGELOG'],
        ]),
      },
      { text: 'Decisions', collapsed: true, items: pagesOf('decisions') },
      {
        text: 'Reference',
        items: ['', '/files', '/interop', '/python', '/unsafe'].map((entry) => ({
          text: `node-dlpack${entry}`,
          link: `/reference/node-dlpack${entry}/`,
        })),
      },
    ],
  },
});
