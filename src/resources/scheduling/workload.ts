import {duplicate, invalid, required, tooMany, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {dnsLabelProblems, dnsSubdomainProblems, pathSegmentProblems} from '#src/api/names.js';
import type {Workload} from '#src/api/kinds/scheduling.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {each} from '#src/resources/validation/values.js';

type Spec = Workload['spec'];
type PodGroup = Spec['podGroups'][number];

const maxGroups = 8;

function* validateController({apiGroup, kind, name}: NonNullable<Spec['controllerRef']>): Iterable<FieldError> {
  const path = 'spec.controllerRef';
  if (apiGroup) yield* each(`${path}.apiGroup`, apiGroup, dnsSubdomainProblems(apiGroup));
  for (const [field, text] of Object.entries({kind, name})) {
    if (text) yield* each(`${path}.${field}`, text, pathSegmentProblems(text));
    else yield required(`${path}.${field}`);
  }
}

function* validatePolicy({basic, gang}: Partial<PodGroup['policy']>, path: string): Iterable<FieldError> {
  if (!basic && !gang) yield required(path, 'exactly one of `basic`, `gang` is required');
  else if (basic && gang)
    yield invalid(path, '{`basic`, `gang`}', 'exactly one of `basic`, `gang` is required, but multiple fields are set');
  else if (gang && !(gang.minCount > 0)) yield invalid(`${path}.gang.minCount`, gang.minCount ?? 0, 'must be greater than zero');
}

function* validateGroups(groups: readonly PodGroup[]): Iterable<FieldError> {
  const path = 'spec.podGroups';
  if (groups.length === 0) return yield required(path, 'must have at least one item');
  if (groups.length > maxGroups) return yield tooMany(path, groups.length, maxGroups);
  const names = new Set<string>();
  for (const [i, group] of groups.entries()) {
    const at = `${path}[${i}]`;
    yield* each(`${at}.name`, group.name ?? '', dnsLabelProblems(group.name ?? ''));
    if (names.has(group.name)) yield duplicate(`${at}.name`, group.name);
    names.add(group.name);
    yield* validatePolicy(group.policy ?? {}, `${at}.policy`);
  }
}

/** Workload: pods that are scheduled together, in groups that wait for a minimum count. */
export const workloads = defineResource<Workload>({
  kind: kinds.workloads,
  served: {gates: ['GenericWorkload']},
  metadata: {nameProblems: subdomainName},
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    *validate({spec}, old) {
      const {controllerRef, podGroups = []} = (spec ?? {}) as Partial<Spec>;
      if (controllerRef) yield* validateController(controllerRef);
      yield* validateGroups(podGroups);
      if (!old) return;
      // The short paths are the original's.
      if (old.spec.controllerRef) yield* immutable('controllerRef', controllerRef, old.spec.controllerRef);
      yield* immutable('podGroups', podGroups, old.spec.podGroups);
    },
  },
  presentation: {columns: [nameColumn, ageColumn]},
});
