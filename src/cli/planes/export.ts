import {createWriteStream} from 'node:fs';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {createGzip} from 'node:zlib';
import {messageOf} from '#src/base/message.js';
import {OptionError} from '#src/options/option-error.js';
import type {exportFlags} from '#src/options/programs/planes.js';
import type {Invocation} from '#src/program/program.js';
import {writeTar} from '#src/simulation/files/tar.js';
import {bundleFiles} from './bundle.js';
import {onlyName} from './record.js';
import {PlaneRegistry} from './registry.js';

/** `plat export`: writes what a report of an error needs to an archive that only this user can read. */
export const runExport = async (invocation: Invocation<(typeof exportFlags)['rows']>): Promise<void> => {
  const {
    parsed: {options, args},
    print,
    version,
    clock,
  } = invocation;
  const name = onlyName(args);
  const plane = new PlaneRegistry().get(name);
  const output = options.output || `plat-${name}.tar.gz`;
  const modifiedAt = clock.now();
  const entries = (await bundleFiles(plane, version.gitVersion)).map(({path, text}) => ({
    path: `plat-${name}/${path}`,
    file: {content: Buffer.from(text), mode: 0o600, modifiedAt},
  }));
  try {
    await pipeline(Readable.from(writeTar(entries)), createGzip(), createWriteStream(output, {flags: 'wx', mode: 0o600}));
  } catch (cause) {
    throw new OptionError(`--output: cannot write ${output}: ${messageOf(cause)}`, {cause});
  }
  print(`wrote ${output}: ${entries.length} files. Look at it before you give it to others: names and labels are in it.`);
};
