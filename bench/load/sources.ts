import {existsSync, readFileSync} from 'node:fs';
import {SourceMap, type SourceMapPayload} from 'node:module';
import {basename} from 'node:path';

/** The position of a function in a script, as a profile has it. */
export interface Position {
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** Returns the path of a source below the root of the repository. */
const belowRoot = (source: string): string => source.replace(/^(\.\.\/)+/, '').replace(/^dist\//, '');

/**
 * The folder of the bundles of this build, with their source maps. V8's code cache remembers the folder where it was
 * recorded, so that names alone count.
 */
const bundles = new URL('../../bundle/', import.meta.url);

/** Returns a function that finds the source of a position in a bundle: empty for code that is not plat's. */
export const sourceFinder = (): ((position: Position) => string) => {
  const maps = new Map<string, SourceMap | undefined>();
  const mapOf = (bundle: string): SourceMap | undefined => {
    if (!maps.has(bundle)) {
      const file = new URL(`${bundle}.map`, bundles);
      maps.set(bundle, existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload) : undefined);
    }
    return maps.get(bundle);
  };
  return ({url, lineNumber, columnNumber}) => {
    if (!url.endsWith('.cjs')) return '';
    const entry = mapOf(basename(url))?.findEntry(lineNumber, columnNumber);
    return entry && 'originalSource' in entry ? belowRoot(entry.originalSource) : '';
  };
};
