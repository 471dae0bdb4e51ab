// Places in compiled files as places in the sources. With source maps switched on, Node.js reads the map of each module
// that it loads, and decodes all of a script's for the first error whose stack is asked for: some seconds of each
// script of `make test`. So its processes (ava loads this module into them before the tests) do without, and only what
// is printed of a failure is translated.
import {existsSync, readFileSync} from 'node:fs';
import {SourceMap} from 'node:module';
import {dirname, join, relative} from 'node:path';
import process from 'node:process';

if (process.env['PLAT_TEST_TOGETHER']) process.setSourceMapsEnabled(false);

const maps = new Map();

const mapOf = file => {
  if (!maps.has(file))
    maps.set(file, existsSync(`${file}.map`) ? new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))) : undefined);
  return maps.get(file);
};

/** The place in the sources of a line of a compiled file (`dist/...js`); the place itself if it has none. */
export const sourcePlace = (file, line, column = 1) => {
  const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
  if (!entry?.originalSource) return `${file}:${line}`;
  return `${relative('.', join(dirname(file), entry.originalSource))}:${entry.originalLine + 1}`;
};

/** A text in which places in compiled files are those in the sources. */
export const withSourcePlaces = text =>
  text.replaceAll(/(?:file:\/\/)?(?:[^\s()]*\/)?(dist\/[\w./-]+\.js):(\d+)(?::(\d+))?/g, (_, file, line, column) =>
    sourcePlace(file, line, column),
  );
