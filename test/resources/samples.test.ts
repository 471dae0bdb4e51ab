import test from 'ava';
import {agoFrom} from '#src/api/duration.js';
import {naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {resources} from '#src/resources/builtin/index.js';
import {filledObjects} from '#test/reference/round-trips.js';

const words = naming('kubernetes');

const samples = new Map(filledObjects().map(({apiVersion, kind, object}) => [`${apiVersion} ${kind}`, object as unknown as KubeObject]));

/** The sample of a kind with every field filled. */
const sampleOf = (group: string, version: string, kind: string): KubeObject | undefined =>
  samples.get(`${group ? `${group}/` : ''}${version} ${kind}`);

for (const {kind, default: setDefaults, presentation, served} of resources) {
  const sample = sampleOf(words.group(kind.group), kind.version, kind.kind);
  if (!sample) continue;
  test(`${kind.plural} of ${kind.group || 'core'} with every field filled are completed, shown and converted`, t => {
    t.notThrows(() => setDefaults?.(sample as never, {naming: words, gate: () => true}));
    for (const column of presentation?.columns ?? []) t.not(column.of(sample, agoFrom(0), words), undefined, column.name);
    for (const {fromHub, toHub} of served?.otherVersions ?? []) t.deepEqual(toHub(fromHub(structuredClone(sample), words), words), sample);
  });
}
