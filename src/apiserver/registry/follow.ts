import type {Kind} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import {endOfPrefix} from '#src/storage/store.js';
import {allOf} from './list.js';
import {objectOf} from './read.js';
import type {Registry} from './registry.js';

/** Hears of an object that came, changed or went. What it is given is shared and must not be changed. */
export type Heard<T extends KubeObject> = (object: Readonly<T>, gone: boolean) => void;

/**
 * Tells of every object of a kind that there is, then of each change, in order, until the signal aborts. Resolves once what there was at the beginning
 * was told. A write is told of before or with its answer: the store sees to that.
 */
export const followKind = async <T extends KubeObject>(registry: Registry, kind: Kind<T>, heard: Heard<T>, signal: AbortSignal): Promise<void> => {
  const resource = registry.of(kind as Kind);
  const {store} = resource.settings;
  const scope = {start: resource.root, end: endOfPrefix(resource.root)};
  let revision = 0;
  for await (const piece of allOf(resource)) {
    if (signal.aborted) return;
    ({revision} = piece);
    for (const record of piece.records) heard(objectOf(resource, record) as Readonly<T>, false);
  }
  if (signal.aborted) return;
  const watch = store.watch(
    {...scope, after: revision},
    {
      changes(batch) {
        for (const {record, previous} of batch) heard(objectOf(resource, (record ?? previous)!) as Readonly<T>, record === undefined);
      },
      // The store ends a watch of this kind only when it closes.
      ended() {},
    },
  );
  signal.addEventListener('abort', () => watch[Symbol.dispose](), {once: true});
};
