import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {parseAllDocuments} from 'yaml';
import {managerFlags} from '#src/operator/program/flags.js';

const page = readFileSync('docs/operator.md', 'utf8');
const blocksOf = (language: string): readonly string[] =>
  [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].filter(([, found]) => found === language).map(([, , text = '']) => text);

/** Code without its indentation: a block may be a part of a function. */
const flush = (text: string): string =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean)
    .join('\n');

test('every block of TypeScript of docs/operator.md is a part of code that is compiled', t => {
  const sources = ['test/docs/guide', 'examples/labels', 'examples/cronjobs'].flatMap(folder =>
    readdirSync(folder)
      .filter(file => file.endsWith('.ts'))
      .map(file => flush(readFileSync(join(folder, file), 'utf8'))),
  );
  const blocks = blocksOf('ts');
  t.true(blocks.length >= 14);
  t.deepEqual(
    blocks.filter(block => !sources.some(source => source.includes(flush(block)))),
    [],
  );
});

test('the manifests of docs/operator.md are YAML, and its table names every flag of a program', t => {
  const kinds = blocksOf('yaml').flatMap(text => parseAllDocuments(text).map(document => (document.toJS() as {kind: string}).kind));
  t.deepEqual(kinds, ['Deployment', 'Service']);
  const election = /`--leader-elect`, .*/.exec(page)?.[0] ?? '';
  const named = (flag: string): boolean =>
    page.includes(`\`--${flag}\``) || page.includes(`\`-${flag}\``) || election.includes(`\`-${flag.replace('leader-elect-', '')}\``);
  t.deepEqual(
    Object.keys(managerFlags('', '').rows).filter(flag => !named(flag)),
    ['naming', 'help'],
  );
});
