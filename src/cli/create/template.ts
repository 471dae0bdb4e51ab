// A project from the one in examples/operator, under other names.

import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {packageVersion} from '#src/api/version.js';
import {definitionFiles} from '#src/cli/generate/definition-files.js';
import type {ProjectNames} from './names.js';

/** Returns the folder of the project that others are made from, from a compiled file or a bundle. */
const templateFolder = (): string => {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const found = join(folder, 'examples', 'operator');
    if (existsSync(join(found, 'package.json'))) return found;
    if (folder === dirname(folder)) throw new Error('the folder examples/operator of the package is missing');
  }
};

/** Packages cannot contain files of these names. */
const renamed: Readonly<Record<string, readonly string[]>> = {
  _ignore: ['.gitignore', '.containerignore', '.dockerignore'],
  _github: ['.github'],
};

const isReplaced = /my-operator|example\.com|samples|Sample|sample|\^0\.0\.0/g;

/** Returns the files of a project by their paths in it. */
export const operatorFiles = ({name, group, kind, plural, file}: ProjectNames): Readonly<Record<string, string>> => {
  const words: Readonly<Record<string, string>> = {
    'my-operator': name,
    'example.com': group,
    samples: plural,
    Sample: kind,
    sample: file,
    '^0.0.0': `^${packageVersion}`,
  };
  const inWords = (text: string): string => text.replaceAll(isReplaced, word => words[word]!);
  const files: Record<string, string> = {};
  const folder = templateFolder();
  for (const path of readdirSync(folder, {recursive: true, encoding: 'utf8'}).sort()) {
    if (statSync(join(folder, path)).isDirectory()) continue;
    const [first = '', ...rest] = path.replaceAll('\\', '/').split('/');
    for (const start of renamed[first] ?? [first])
      files[inWords([start, ...rest].join('/'))] = inWords(readFileSync(join(folder, path), 'utf8'));
  }
  const [definition] = definitionFiles([`src/${file}.ts`], path => files[path], 'kubernetes');
  return {...files, [`manifests/crds/${definition!.name}`]: definition!.text};
};
