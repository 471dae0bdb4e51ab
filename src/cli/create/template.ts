// A project from the one in examples/operator, under other names.

import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {definitionFiles} from '#src/cli/generate/definition-files.js';
import type {ProjectNames} from './names.js';

/**
 * Returns the folder of the package, which has the project that others are made from, from a compiled file or a bundle.
 */
export const packageFolder = (): string => {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, template, 'package.json'))) return folder;
    if (folder === dirname(folder)) throw new Error(`the folder ${template} of the package is missing`);
  }
};

const template = 'examples/operator';

/** Packages cannot contain files of these names. */
const renamed: Readonly<Record<string, readonly string[]>> = {
  _ignore: ['.gitignore', '.containerignore', '.dockerignore'],
  _github: ['.github'],
};

const isReplaced = /my-operator|example\.com|samples|Sample|sample|file:\.\.\/\.\./g;

/** Returns a text of the template in the words of a project. */
export const inWordsOf = ({name, group, kind, plural, file}: ProjectNames, text: string, source = ''): string => {
  const words: Readonly<Record<string, string>> = {
    'my-operator': name,
    'example.com': group,
    samples: plural,
    Sample: kind,
    sample: file,
    'file:../..': source,
  };
  return text.replaceAll(isReplaced, word => words[word]!);
};

/** Returns the text of a file of the template. */
export const templateText = (path: string): string => readFileSync(join(packageFolder(), template, path), 'utf8');

/** Returns the files of a project by their paths in it. `source` is its dependency on this package. */
export const operatorFiles = (names: ProjectNames, source: string): Readonly<Record<string, string>> => {
  const inWords = (text: string): string => inWordsOf(names, text, source);
  const files: Record<string, string> = {};
  const folder = join(packageFolder(), template);
  for (const path of readdirSync(folder, {recursive: true, encoding: 'utf8'}).sort()) {
    if (statSync(join(folder, path)).isDirectory()) continue;
    const [first = '', ...rest] = path.replaceAll('\\', '/').split('/');
    for (const start of renamed[first] ?? [first])
      files[inWords([start, ...rest].join('/'))] = inWords(readFileSync(join(folder, path), 'utf8'));
  }
  const [definition] = definitionFiles([`src/${names.file}.ts`], path => files[path], {words: 'kubernetes'});
  return {...files, [`manifests/crds/${definition!.name}`]: definition!.text};
};
