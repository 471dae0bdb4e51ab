import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutableInternal} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateTemplateMeta} from '#src/resources/validation/object-meta.js';
import {sameFieldsVersion} from '#src/resources/versions.js';
import {adminAccess} from './admin-access.js';
import {defaultClaimSpec, dropDisabledClaimFields, readyForClaim, validateClaimSpec} from './claim-spec.js';
import {flatRequests} from './older-versions.js';

type Template = ObjectOf<typeof kinds.resourceClaimTemplates>;

/** ResourceClaimTemplate: creates a claim for each pod that refers to it. It is immutable. */
export const resourceClaimTemplates = defineResource<Template>({
  kind: kinds.resourceClaimTemplates,
  served: {
    otherVersions: [
      sameFieldsVersion<Template>(kinds.resourceClaimTemplatesV1beta2),
      flatRequests<Template>(kinds.resourceClaimTemplatesV1beta1, 'spec.spec.devices.requests'),
    ],
  },
  storage: {alwaysPresent: {spec: {metadata: {}, spec: {devices: {requests: null}}}}},
  metadata: {nameProblems: subdomainName},
  ready: ({spec}) => readyForClaim(spec?.spec),
  default(template) {
    const spec = (template.spec ??= {spec: {}});
    spec.metadata ??= {};
    const claim = (spec.spec ??= {});
    claim.devices ??= {};
    defaultClaimSpec(claim);
  },
  allocation: {allocate: adminAccess<Template>(kinds.resourceClaimTemplates, ({spec}) => spec?.spec)},
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare({spec}, old, {gate}) {
      dropDisabledClaimFields(spec.spec, old?.spec.spec, gate);
    },
    *validate({spec}, old, context) {
      yield* validateTemplateMeta(spec.metadata, 'spec.metadata');
      yield* validateClaimSpec(spec.spec, 'spec.spec', context);
      if (old) yield* immutableInternal('spec', 'ResourceClaimTemplateSpec', spec, old.spec);
    },
  },
  deletion: {response: 'object'},
  presentation: {columns: [nameColumn, ageColumn]},
});
