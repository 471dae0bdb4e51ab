import {existsSync, readFileSync} from 'node:fs';
import test from 'ava';
import {agoFrom} from '#src/api/duration.js';
import {naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {resources} from '#src/resources/builtin/index.js';

const folder = process.env['PLAT_ORACLE'];
const words = naming('kubernetes');

/** The sample of a kind with every field filled. */
const sampleOf = (group: string, version: string, kind: string): KubeObject | undefined => {
  const path = `${folder}/roundtrip/${group || 'core'}.${version}.${kind}.json`;
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as KubeObject) : undefined;
};

if (folder) {
  for (const {kind, default: setDefaults, presentation, served} of resources) {
    const sample = sampleOf(words.group(kind.group), kind.version, kind.kind);
    if (!sample) continue;
    test(`${kind.plural} of ${kind.group || 'core'} with every field filled are completed, shown and converted`, t => {
      t.notThrows(() => setDefaults?.(sample as never, {naming: words, gate: () => true}));
      for (const column of presentation?.columns ?? []) t.not(column.of(sample, agoFrom(0), words), undefined, column.name);
      for (const {fromHub, toHub} of served?.otherVersions ?? [])
        t.deepEqual(toHub(fromHub(structuredClone(sample), words), words), sample);
    });
  }
} else {
  test.skip('every kind with every field filled is completed, shown and converted (needs PLAT_ORACLE)', () => {});
}
