import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {dnsLabelProblems} from '#src/api/names.js';
import type {Toleration} from '#src/api/pod.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {validateTolerations} from '#src/resources/core/pod/validation/scheduling.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateLabels} from '#src/resources/validation/object-meta.js';
import {containerResourceName, validateResources} from '#src/resources/validation/resource-lists.js';
import {each} from '#src/resources/validation/values.js';

type RuntimeClass = ObjectOf<typeof kinds.runtimeClasses>;

const writable = ['metadata', 'handler', 'overhead', 'scheduling'];

/** A way to run containers, by the name that the container runtime knows it by. */
export const runtimeClasses = defineResource<RuntimeClass>({
  kind: kinds.runtimeClasses,
  nameProblems: subdomainName,
  createOnUpdate: true,
  unconditionalUpdate: false,
  main: {
    writes: {create: writable, update: writable},
    *validate({handler = '', overhead, scheduling}, old, {naming}) {
      if (old) return yield* immutable('handler', handler, old.handler);
      yield* each('handler', handler, dnsLabelProblems(handler));
      if (overhead) yield* validateResources('overhead', {limits: overhead.podFixed ?? {}}, {naming, name: containerResourceName, claims: new Set(), partialPages: false});
      yield* validateLabels(scheduling?.nodeSelector, 'scheduling.nodeSelector');
      yield* validateTolerations((scheduling?.tolerations ?? []) as Toleration[], 'scheduling.tolerations');
    },
  },
  columns: [nameColumn, {name: 'Handler', description: 'What the container runtime calls it.', of: ({handler}) => handler}, ageColumn],
});
