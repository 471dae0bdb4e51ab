import {required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsSubdomainProblems, pathSegmentProblems} from '#src/api/names.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutableInternal} from '#src/resources/validation/equality.js';
import {canonicalIpProblem} from '#src/resources/validation/ip-fields.js';
import {each} from '#src/resources/validation/values.js';
import {sameFieldsVersion} from '#src/resources/versions.js';

type IPAddress = ObjectOf<typeof kinds.ipAddresses>;

const nameProblems = (name: string): string[] => {
  const problem = canonicalIpProblem(name);
  return problem === undefined ? [] : [problem];
};

function* validateParent(parent: Partial<NonNullable<NonNullable<IPAddress['spec']>['parentRef']>> | undefined): Iterable<FieldError> {
  const path = 'spec.parentRef';
  if (!parent) return yield required(path);
  const {group, resource, name, namespace} = parent;
  if (group) yield* each(`${path}.group`, group, dnsSubdomainProblems(group));
  for (const [field, text] of Object.entries({resource, name})) {
    if (text) yield* each(`${path}.${field}`, text, pathSegmentProblems(text));
    else yield required(`${path}.${field}`);
  }
  if (namespace) yield* each(`${path}.namespace`, namespace, pathSegmentProblems(namespace));
}

const parentText = ({spec}: Readonly<IPAddress>): string => {
  if (!spec?.parentRef) return '<none>';
  const {group, resource, namespace, name} = spec.parentRef;
  return [(group ? `${resource}.${group}` : (resource ?? '')).toLowerCase(), ...(namespace ? [namespace] : []), name].join('/');
};

const selectableFields = Object.fromEntries(
  (['group', 'resource', 'namespace', 'name'] as const).map(field => [
    `spec.parentRef.${field}`,
    ({spec}: Readonly<IPAddress>) => spec?.parentRef?.[field] ?? '',
  ]),
);

/** IPAddress: an allocated address with its owner. The address is its name, so that it cannot be allocated twice. */
export const ipAddresses = defineResource<IPAddress>({
  kind: kinds.ipAddresses,
  discovery: {shortNames: ['ip']},
  served: {
    otherVersions: [
      sameFieldsVersion<IPAddress>(kinds.ipAddressesV1beta1, {deprecation: {since: 'v1.34', until: 'v1.37'}, selectableFields}),
    ],
  },
  storage: {alwaysPresent: {spec: {}}},
  metadata: {nameProblems, hasPlainGeneratedNames: true},
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    *validate({spec}, old) {
      yield* validateParent(spec?.parentRef);
      if (old) yield* immutableInternal('spec.parentRef', 'ParentReference', spec?.parentRef, old.spec?.parentRef);
    },
  },
  selection: {fields: selectableFields, unknownFieldMessage: 'metadata'},
  presentation: {
    columns: [
      nameColumn,
      {name: 'ParentRef', description: 'What the address belongs to.', of: parentText},
      {...ageColumn, isUndeclared: true},
    ],
  },
});
