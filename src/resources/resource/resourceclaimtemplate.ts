import {forbiddenField, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import type {ObjectMeta} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutableInternal} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateAnnotations, validateLabels} from '#src/resources/validation/object-meta.js';
import {alike} from '#src/resources/versions.js';
import type {Emptied} from '#src/schema/decode/emptied.js';
import {adminAccess} from './admin-access.js';
import {defaultClaimSpec, dropDisabledClaimFields, readyForClaim, validateClaimSpec} from './claim-spec.js';
import {flatRequests} from './older-versions.js';

type Template = ObjectOf<typeof kinds.resourceClaimTemplates>;

/** Validates the template's metadata, which has only labels and annotations. */
function* validateMetadata(meta: Readonly<ObjectMeta> | undefined, emptied: Emptied, path: string): Iterable<FieldError> {
  const {annotations, labels, ...rest} = meta ?? {};
  yield* validateAnnotations(annotations, `${path}.annotations`);
  yield* validateLabels(labels, `${path}.labels`);
  const empty = [...emptied.keys()].filter(at => at.startsWith(`${path}.`)).map(at => at.slice(path.length + 1));
  for (const [field, value] of [...Object.entries(rest), ...empty.filter(field => field !== 'labels' && field !== 'annotations').map(field => [field, true] as const)]) {
    if (value) yield forbiddenField(`${path}.${field === 'uid' ? 'uID' : field}`, 'cannot be set');
  }
}

/** ResourceClaimTemplate: creates a claim for each pod that refers to it. It is immutable. */
export const resourceClaimTemplates = defineResource<Template>({
  kind: kinds.resourceClaimTemplates,
  otherVersions: [alike<Template>(kinds.resourceClaimTemplatesV1beta2), flatRequests<Template>(kinds.resourceClaimTemplatesV1beta1, 'spec.spec.devices.requests')],
  nameProblems: subdomainName,
  deleteResponse: 'object',
  alwaysPresent: {spec: {metadata: {}, spec: {devices: {}}}},
  default(template) {
    const spec = (template.spec ??= {spec: {}});
    spec.metadata ??= {};
    const claim = (spec.spec ??= {});
    claim.devices ??= {};
    defaultClaimSpec(claim);
  },
  ready: ({spec}) => readyForClaim(spec?.spec),
  allocate: adminAccess<Template>(kinds.resourceClaimTemplates, ({spec}) => spec?.spec),
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare({spec}, old, {gate}) {
      dropDisabledClaimFields(spec.spec, old?.spec.spec, gate);
    },
    *validate({spec}, old, context) {
      yield* validateMetadata(spec.metadata, context.emptied, 'spec.metadata');
      yield* validateClaimSpec(spec.spec, 'spec.spec', context);
      if (old) yield* immutableInternal('spec', 'ResourceClaimTemplateSpec', spec, old.spec);
    },
  },
  columns: [nameColumn, ageColumn],
});
