import type {Findings} from '#src/api/collect-errors.js';
import {invalid} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {nameOnly} from '#src/resources/validation/names.js';
import {isExtendedResource} from '#src/model/resource-names.js';
import {sameFieldsVersion} from '#src/resources/versions.js';
import {list} from './collections.js';
import {maxConfigurations, validateConfiguration, type Configuration} from './configuration.js';
import {maxSelectors, readyForSelectors, validateSelector} from './selectors.js';

type DeviceClass = ObjectOf<typeof kinds.deviceClasses>;

function* validate({spec}: Readonly<DeviceClass>, old: Readonly<DeviceClass> | undefined, {naming, gate}: HookContext): Findings {
  const {selectors, config, extendedResourceName: name} = spec ?? {};
  const keeps = (field: 'selectors' | 'config'): boolean => old !== undefined && semanticallyEqual(old.spec?.[field], spec?.[field]);
  yield* list('spec.selectors', selectors, maxSelectors, (selector, path) =>
    validateSelector(selector, path, {stored: keeps('selectors'), sharesCapacity: gate('DRAConsumableCapacity')}),
  );
  yield* list('spec.config', config as Configuration[] | undefined, maxConfigurations, (one, path) =>
    validateConfiguration(one, path, keeps('config')),
  );
  if (name !== undefined && !isExtendedResource(name, naming))
    yield invalid('spec.extendedResourceName', name, 'must be a valid extended resource name');
}

/** DeviceClass: a category of devices that an administrator offers to claims. */
export const deviceClasses = defineResource<DeviceClass>({
  kind: kinds.deviceClasses,
  served: {
    otherVersions: [
      sameFieldsVersion<DeviceClass>(kinds.deviceClassesV1beta2),
      sameFieldsVersion<DeviceClass>(kinds.deviceClassesV1beta1, {deprecation: {since: 'v1.35', until: 'v1.38'}}),
    ],
  },
  storage: {alwaysPresent: {spec: {}}},
  metadata: {nameProblems: nameOnly, generation: true},
  ready: ({spec}) => readyForSelectors(spec?.selectors ?? []),
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare({spec}, old, {gate}) {
      if (!gate('DRAExtendedResource') && old?.spec?.extendedResourceName === undefined) delete spec?.extendedResourceName;
    },
    validate,
  },
  deletion: {response: 'object'},
  presentation: {columns: [nameColumn, ageColumn]},
});
