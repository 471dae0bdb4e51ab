import {readdirSync, readFileSync, statSync} from 'node:fs';
import {extname, join} from 'node:path';
import test from 'ava';
import {packageName, packageVersion} from '#src/api/version.js';

/** Files whose commands users copy, and code that prints commands. */
const roots = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs', 'examples', 'manifests', 'deploy', 'man', 'src'];

const filesBelow = (path: string): readonly string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path, {recursive: true, encoding: 'utf8'})
        .map(file => join(path, file))
        .filter(file => statSync(file).isFile() && extname(file) !== '.code')
    : [path];

/** Commands that fetch a package named `plat`, or ours while no registry has it. A path of a tarball is none. */
const fetches = new RegExp(
  String.raw`\b(?:npm (?:install|i|add|ci)|pnpm (?:add|install|i)|yarn add|bun add|deno add)(?: -{1,2}[\w=-]+)* (?:npm:)?(?:plat|${packageName})(?:@\S+)?(?=[\s\`'"]|$)` +
    String.raw`|\b(?:npx|pnpm dlx|yarn dlx|bunx)(?: -{1,2}[\w=-]+)* (?:plat|${packageName})\b`,
);

test('no page and no message tells to install the package from a registry that does not have it', t => {
  for (const command of ['npm install plat', 'npm i -D plat@1', 'npx plat up', `pnpm add ${packageName}`, 'npm install --global plat`'])
    t.regex(command, fetches);
  for (const command of [`npm install ./platio-plat-${packageVersion}.tgz`, 'npm install && npm test', 'npm exec -- plat up'])
    t.notRegex(command, fetches);

  const found = roots.flatMap(filesBelow).flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(line => fetches.test(line))
      .map(line => `${file}: ${line.trim()}`),
  );

  t.deepEqual(found, []);
});

test('the page on installation names the package, the tarball that npm makes, and that no registry has it', t => {
  const page = readFileSync('docs/install.md', 'utf8');

  t.true(page.includes(`\`${packageName}\``));
  t.true(page.includes('**not published yet**'));
  t.true(page.includes(`platio-plat-${packageVersion}.tgz`));
});
