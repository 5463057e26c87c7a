// The documentation site: `npm run docs` builds it into build/site, from docs/, the project's own pages, and the
// reference that TypeDoc writes from the sources. A link that leads nowhere, in the pages or in a doc comment, fails the
// build. `--check` then looks at the result: every link and anchor, and every page in a browser.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { installPackages, root, run } from './steps.mjs';

const build = path.join(root, 'build/site');
// Below site/, where what VitePress makes of a page finds its packages.
const source = path.join(root, 'site/source');
const PROJECT_PAGES = ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'UPGRADING.md'];
const LANGUAGES = { '.h': 'c', '.hpp': 'cpp', '.cc': 'cpp', '.c': 'c', '.rs': 'rust', '.mjs': 'js', '.txt': 'cmake' };

/** A file or folder of the repository that a page links to becomes a page that shows it; returns its address. */
function pageOfFile(file) {
  const absolute = path.join(root, file);
  const isFolder = statSync(absolute).isDirectory();
  // No dots: VitePress takes what ends like a file for one.
  const page = `source/${file.replace(/\/$/, '').replaceAll('.', '-')}`;
  const target = path.join(source, `${page}.md`);
  if (!existsSync(target)) {
    const text = isFolder
      ? readdirSync(absolute)
          .filter((name) => !['build', 'node_modules', 'target', 'out'].includes(name))
          .map((name) => `- ${name}`)
          .join('\n')
      : `\`\`\`\`${LANGUAGES[path.extname(file)] ?? 'text'}\n${readFileSync(absolute, 'utf8').trimEnd()}\n\`\`\`\``;
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, `# ${file}\n\n${text}\n`);
  }
  return `/${page}`;
}

/** Links that leave docs/ on their way to the site: pages of the project lie beside the others there. */
function relink(page, text) {
  return text.replaceAll(/(\]\()([^)#\s]+)(#[^)\s]*)?(\))/g, (whole, open, target, anchor = '', close) => {
    if (/^[a-z]+:/.test(target) || target.startsWith('/')) return whole;
    const file = path.relative(root, path.resolve(root, path.dirname(page), target));
    if (file === 'README.md') return `${open}/start${close}`;
    if (PROJECT_PAGES.includes(file)) return `${open}/${file.replace(/\.md$/, '')}${anchor}${close}`;
    if (file.startsWith('docs/'))
      return file.endsWith('.md') ? `${open}/${file.slice('docs/'.length, -'.md'.length)}${anchor}${close}` : whole;
    return `${open}${pageOfFile(file)}${close}`;
  });
}

function stage() {
  rmSync(source, { recursive: true, force: true });
  cpSync(path.join(root, 'docs'), source, { recursive: true });
  cpSync(path.join(root, 'site/index.md'), path.join(source, 'index.md'));
  cpSync(path.join(root, 'site/mark.svg'), path.join(source, 'public/mark.svg'));
  const pages = readdirSync(path.join(root, 'docs'), { recursive: true }).filter((name) => name.endsWith('.md'));
  for (const name of pages) {
    const text = readFileSync(path.join(root, 'docs', name), 'utf8');
    writeFileSync(path.join(source, name), relink(`docs/${name}`, text));
  }
  for (const name of PROJECT_PAGES.filter((page) => existsSync(path.join(root, page))))
    writeFileSync(path.join(source, name), relink(name, readFileSync(path.join(root, name), 'utf8')));
}

const tool = (relativePath, args) =>
  run(process.execPath, [path.join(root, 'site/node_modules', relativePath), ...args], {
    cwd: path.join(root, 'site'),
  });

// TypeDoc reads the types of what lib/ imports.
installPackages('.');
installPackages('site');
stage();
tool('typedoc/bin/typedoc', ['--logLevel', 'Warn']);
tool('vitepress/bin/vitepress.js', ['build', '.']);
if (process.argv.includes('--check')) {
  const { checkSite } = await import('./check-site.mjs');
  process.exit((await checkSite(build)) ? 0 : 1);
}
console.log('the site is in build/site');
