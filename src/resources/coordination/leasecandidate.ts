import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {dataKeyProblems} from '#src/resources/validation/names.js';
import {alike} from '#src/resources/versions.js';
import {validateStrategy} from './lease.js';

type LeaseCandidate = ObjectOf<typeof kinds.leaseCandidates>;

const semantic = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
const notSemantic = 'must be a valid semantic version';

/** Which of two versions is the older, by their numbers (semver.org, 11). */
const isBelow = (a: string, b: string): boolean => {
  const [left, right] = [a, b].map(text => semantic.exec(text)!.slice(1, 4).map(Number));
  for (let i = 0; i < 3; i++) if (left![i] !== right![i]) return left![i]! < right![i]!;
  return a.includes('-') && !b.includes('-');
};

function* validate({spec = {} as NonNullable<LeaseCandidate['spec']>}: Readonly<LeaseCandidate>, old: Readonly<LeaseCandidate> | undefined): Iterable<FieldError> {
  const {leaseName, emulationVersion, binaryVersion, strategy} = spec;
  if (!leaseName) yield required('spec.leaseName');
  if (emulationVersion && !semantic.test(emulationVersion)) yield invalid('spec.emulationVersion', emulationVersion, notSemantic);
  if (!binaryVersion) yield required('spec.binaryVersion');
  else if (!semantic.test(binaryVersion)) yield invalid('spec.binaryVersion', binaryVersion, notSemantic);
  else if (emulationVersion && semantic.test(emulationVersion) && isBelow(binaryVersion, emulationVersion)) {
    yield invalid('spec.binaryVersion', binaryVersion, 'must be greater than or equal to `emulationVersion`');
  }
  if (!strategy) yield required('spec.strategy');
  else {
    if (strategy === 'OldestEmulationVersion' && !emulationVersion) {
      yield required('spec.emulationVersion', "must be specified when `strategy` is 'OldestEmulationVersion'");
    }
    yield* validateStrategy(strategy);
  }
  if (old) yield* immutable('spec.leaseName', leaseName, old.spec?.leaseName);
}

/** Somebody who could hold a lease, and by which version he is chosen. */
export const leaseCandidates = defineResource<LeaseCandidate>({
  kind: kinds.leaseCandidates,
  otherVersions: [alike<LeaseCandidate>(kinds.leaseCandidatesV1alpha2)],
  nameProblems: name => dataKeyProblems(name),
  createOnUpdate: true,
  unconditionalUpdate: false,
  alwaysPresent: {spec: {}},
  main: {writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  columns: [
    nameColumn,
    {name: 'LeaseName', description: 'The lease it could hold.', of: ({spec}) => spec?.leaseName ?? ''},
    {name: 'BinaryVersion', description: 'The version of the program.', of: ({spec}) => spec?.binaryVersion ?? ''},
    {name: 'EmulationVersion', description: 'The version it behaves as.', of: ({spec}) => spec?.emulationVersion ?? ''},
    ageColumn,
  ],
});
