// Files that a former run has written and this one does not: of a kind that is gone, for example.

import {existsSync, readdirSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {textIfThere} from '#src/cli/program/generated-files.js';
import {generated} from './project/generated.js';

/** The folders that a format has to itself. */
const folders: Readonly<Record<string, readonly string[]>> = {install: [], helm: ['chart/templates'], olm: ['bundle/manifests']};

/** Returns the names of generated files in the folders of formats that are not among those that are written. */
export const staleFiles = (folder: string, written: ReadonlySet<string>, formats: readonly string[]): readonly string[] =>
  formats
    .flatMap(format => folders[format]!)
    .filter(within => existsSync(join(folder, within)))
    .flatMap(within =>
      readdirSync(join(folder, within), {recursive: true, encoding: 'utf8'}).map(name => `${within}/${name.replaceAll('\\', '/')}`),
    )
    .filter(name => !written.has(name) && statSync(join(folder, name)).isFile() && textIfThere(join(folder, name))?.startsWith(generated))
    .sort();
