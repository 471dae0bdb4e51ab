import {kinds} from '#src/api/kinds/index.js';
import type {ConfigMap} from '#src/api/types.js';
import {defineController, type KeyedController, type Reconcile} from '#src/runtime/controller.js';

export const minute = 60_000;
export const aMap = (name: string, rest: Partial<ConfigMap> = {}): ConfigMap => ({
  ...rest,
  metadata: {namespace: 'default', name, ...rest.metadata},
});

/** A controller of config maps that records the keys it reconciles. */
export const noting = (reconcile: Reconcile, rest: Partial<KeyedController> = {}) =>
  defineController({
    doc: 'Notes.',
    name: 'noting-controller',
    serviceAccount: 'noter',
    primary: kinds.configMaps,
    create: () => reconcile,
    ...rest,
  });
