import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabelProblems, dnsSubdomainProblems} from '#src/api/names.js';
import type {Node} from '#src/api/types.js';
import {dataKeyProblems} from '#src/resources/validation/names.js';
import {each} from '#src/resources/validation/values.js';

// Nodes once took their configuration from ConfigMaps; stored references are still validated.

type Source = NonNullable<NonNullable<Node['spec']>['configSource']>;
type Reference = NonNullable<Source['configMap']>;

function* validateReference(reference: Readonly<Partial<Reference>>, path: string): Iterable<FieldError> {
  for (const [field, problems] of [
    ['namespace', dnsLabelProblems],
    ['name', dnsSubdomainProblems],
    ['kubeletConfigKey', dataKeyProblems],
  ] as const) {
    const text = reference[field];
    if (text) yield* each(`${path}.${field}`, text, problems(text));
    else yield required(`${path}.${field}`);
  }
}

function* validateSource(source: Readonly<Source>, path: string, inStatus: boolean): Iterable<FieldError> {
  const {configMap} = source;
  if (!configMap) return yield invalid(path, source, 'exactly one reference subfield must be non-nil');
  for (const field of ['uid', 'resourceVersion'] as const) {
    const at = `${path}.configMap.${field}`;
    if (inStatus && !configMap[field]) yield required(at);
    if (!inStatus && configMap[field]) yield forbiddenField(at, `${field} must not be set in spec`);
  }
  yield* validateReference(configMap, `${path}.configMap`);
}

/** Validates where a node takes its configuration from, and what it reports of it. */
export function* validateNodeConfig({spec, status}: Readonly<Node>): Iterable<FieldError> {
  if (spec?.configSource) yield* validateSource(spec.configSource, 'spec.configSource', false);
  for (const field of ['assigned', 'active', 'lastKnownGood'] as const) {
    const source = status?.config?.[field];
    if (source) yield* validateSource(source, `status.config.${field}`, true);
  }
}
