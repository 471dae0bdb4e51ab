import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {compareVersions, isNoVersion, isSemanticVersion} from '#src/model/semantic-version.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {dataKeyProblems} from '#src/resources/validation/names.js';
import {sameFieldsVersion} from '#src/resources/versions.js';
import {validateStrategy} from './lease.js';

type LeaseCandidate = ObjectOf<typeof kinds.leaseCandidates>;

const notSemantic = 'must be a valid semantic version';

function* validate(
  {spec = {} as NonNullable<LeaseCandidate['spec']>}: Readonly<LeaseCandidate>,
  old: Readonly<LeaseCandidate> | undefined,
): Iterable<FieldError> {
  const {leaseName, emulationVersion, binaryVersion, strategy} = spec;
  if (!leaseName) yield required('spec.leaseName');
  if (emulationVersion && !isSemanticVersion(emulationVersion)) yield invalid('spec.emulationVersion', emulationVersion, notSemantic);
  if (!binaryVersion) yield required('spec.binaryVersion');
  else if (!isSemanticVersion(binaryVersion)) yield invalid('spec.binaryVersion', binaryVersion, notSemantic);
  // An invalid version counts as zero.
  if (binaryVersion && emulationVersion && compareVersions(binaryVersion, emulationVersion) < 0) {
    yield invalid('spec.binaryVersion', binaryVersion, 'must be greater than or equal to `emulationVersion`');
  }
  if (!strategy) yield required('spec.strategy');
  else {
    if (strategy === 'OldestEmulationVersion' && isNoVersion(emulationVersion ?? '')) {
      yield required('spec.emulationVersion', "must be specified when `strategy` is 'OldestEmulationVersion'");
    }
    yield* validateStrategy(strategy);
  }
  if (old) yield* immutable('spec.leaseName', leaseName, old.spec?.leaseName);
}

/** LeaseCandidate: a possible holder of a lease, with the versions by which it is elected. */
export const leaseCandidates = defineResource<LeaseCandidate>({
  kind: kinds.leaseCandidates,
  served: {
    otherVersions: [sameFieldsVersion<LeaseCandidate>(kinds.leaseCandidatesV1alpha2, {deprecation: {since: 'v1.35', until: 'v1.38'}})],
  },
  storage: {alwaysPresent: {spec: {}}},
  metadata: {nameProblems: name => dataKeyProblems(name), anyFinalizers: true},
  update: {createsMissing: true, unconditional: false},
  main: {writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  presentation: {
    columns: [
      nameColumn,
      {name: 'LeaseName', description: 'The lease it could hold.', of: ({spec}) => spec?.leaseName ?? ''},
      {name: 'BinaryVersion', description: 'The version of the program.', of: ({spec}) => spec?.binaryVersion ?? ''},
      {name: 'EmulationVersion', description: 'The version it behaves as.', of: ({spec}) => spec?.emulationVersion ?? ''},
      ageColumn,
    ],
  },
});
