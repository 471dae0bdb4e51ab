import {duplicate, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabelProblems} from '#src/api/names.js';
import type {Toleration} from '#src/api/pod.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {validateTolerations} from '#src/resources/core/pod/validation/scheduling.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {nodeLabelText} from '#src/resources/validation/node-labels.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateLabels} from '#src/resources/validation/object-meta.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {containerResourceName, validateResources} from '#src/resources/validation/resource-lists.js';
import {each} from '#src/resources/validation/values.js';

type RuntimeClass = ObjectOf<typeof kinds.runtimeClasses>;

/** Validates tolerations and that none occurs twice. */
function* validateEachToleration(tolerations: readonly Toleration[]): Iterable<FieldError> {
  const path = 'scheduling.tolerations';
  yield* validateTolerations(tolerations, path);
  const seen = new Set<string>();
  for (const [i, toleration] of tolerations.entries()) {
    const {key = '', operator = '', value = '', effect = ''} = toleration;
    const words = [key, operator, value, effect].join('\0');
    if (seen.has(words)) yield duplicate(`${path}[${i}]`, internalForm('Toleration', toleration));
    seen.add(words);
  }
}

const writable = ['metadata', 'handler', 'overhead', 'scheduling'];

/** RuntimeClass: a way to run containers, by the handler's name in the container runtime. */
export const runtimeClasses = defineResource<RuntimeClass>({
  kind: kinds.runtimeClasses,
  metadata: {nameProblems: subdomainName, anyFinalizers: true},
  update: {createsMissing: true, unconditional: false},
  main: {
    metadata: 'both',
    writes: {create: writable, update: writable},
    *validate({handler = '', overhead, scheduling}, old, {naming}) {
      yield* each('handler', handler, dnsLabelProblems(handler));
      if (overhead)
        yield* validateResources(
          'overhead',
          {limits: overhead.podFixed ?? {}},
          {naming, name: containerResourceName, claims: new Set(), partialPages: false},
        );
      yield* validateLabels(scheduling?.nodeSelector, 'scheduling.nodeSelector');
      yield* validateEachToleration((scheduling?.tolerations ?? []) as Toleration[]);
      if (old) yield* immutable('handler', handler, old.handler);
    },
    *warn({scheduling}, _old, {naming}) {
      for (const key of Object.keys(scheduling?.nodeSelector ?? {})) {
        const text = nodeLabelText(key, naming);
        if (text) yield `scheduling.nodeSelector: ${text}`;
      }
    },
  },
  presentation: {
    columns: [nameColumn, {name: 'Handler', description: 'What the container runtime calls it.', of: ({handler}) => handler}, ageColumn],
  },
});
