import {forbiddenField} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {sameFieldsVersion} from '#src/resources/versions.js';
import {validateParameters, validateProvisioner} from './parameters.js';

type VolumeAttributesClass = ObjectOf<typeof kinds.volumeAttributesClassesV1beta1>;

const writable = ['metadata', 'driverName', 'parameters'];

/** VolumeAttributesClass: mutable properties of volumes, such as performance. */
export const volumeAttributesClasses = defineResource<VolumeAttributesClass>({
  // Stored in the older version, so that servers that know only that one can read it.
  kind: kinds.volumeAttributesClassesV1beta1,
  discovery: {shortNames: ['vac']},
  served: {
    otherVersions: [sameFieldsVersion<VolumeAttributesClass>(kinds.volumeAttributesClasses)],
    deprecation: {since: 'v1.34', until: 'v1.37', successor: kinds.volumeAttributesClasses},
  },
  metadata: {nameProblems: subdomainName},
  main: {
    metadata: 'both',
    writes: {create: writable, update: writable},
    *validate(object, old) {
      if (old) {
        for (const field of ['driverName', 'parameters'] as const)
          if (!semanticallyEqual(object[field], old[field])) yield forbiddenField(field, `updates to ${field} are forbidden.`);
      }
      yield* validateProvisioner('driverName', object.driverName ?? '');
      yield* validateParameters(object.parameters ?? {}, false);
    },
  },
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {name: 'DriverName', description: 'The driver that knows the properties.', of: ({driverName}) => driverName},
      ageColumn,
    ],
  },
});
